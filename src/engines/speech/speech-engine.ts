import { SystemClock, type Clock } from '../../base/clock.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type {
  Availability,
  Engine,
  EngineCapabilities,
  HostFacts,
  LoadedModel,
  LoadOptions,
  LoadPlan,
} from '../engine.ts'
import { availabilityOf } from '../in-process/engine-package.ts'
import { loadQueued } from '../in-process/load-queued.ts'
import { findSherpa, importSherpa } from './speech-package.ts'
import { planSpeech, SPEECH_CAPABILITIES } from './speech-plan.ts'
import { SpeechWork } from './speech-work.ts'

export interface SpeechEngineOptions {
  /** Folder of installed engines; `<it>/speech/node_modules` is looked into after the application's own packages. */
  enginesDirectory?: string
  /** Default: the system's clock. */
  clock?: Clock
}

/**
 * Text to speech with Piper's and Kokoro's voices, through sherpa-onnx. How languages are pronounced is espeak-ng's knowledge: its data
 * is GPL, fetched by `engines install speech` and never part of this package.
 */
export class SpeechEngine implements Engine {
  readonly name = 'speech'
  readonly capabilities: EngineCapabilities = SPEECH_CAPABILITIES
  readonly #enginesDirectory: string | undefined
  readonly #clock: Clock

  constructor({ enginesDirectory, clock = new SystemClock() }: SpeechEngineOptions = {}) {
    this.#enginesDirectory = enginesDirectory
    this.#clock = clock
  }

  /** Looks at files only; nothing native comes into the server's process. */
  async detect(): Promise<Availability> {
    return availabilityOf(await findSherpa(this.#enginesDirectory))
  }

  async prepare(): Promise<void> {
    await importSherpa(this.#enginesDirectory)
  }

  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planSpeech(spec, facts, host)
  }

  async load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> {
    return await loadQueued(plan, options, {
      clock: this.#clock,
      importPackage: () => importSherpa(this.#enginesDirectory),
      loadWork: (sherpa) => SpeechWork.load(plan, sherpa),
    })
  }
}
