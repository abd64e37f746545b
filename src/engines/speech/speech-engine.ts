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
import { loadFailure, throwIfGivenUp } from '../in-process/load-failure.ts'
import { ModelLifetime } from '../in-process/model-lifetime.ts'
import { QueuedModel } from '../in-process/queued-model.ts'
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
    const found = await findSherpa(this.#enginesDirectory)
    if ('reason' in found) return { available: false, ...found }
    return { available: true, version: found.version, details: { directory: found.directory } }
  }

  async prepare(): Promise<void> {
    await importSherpa(this.#enginesDirectory)
  }

  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planSpeech(spec, facts, host)
  }

  async load(plan: LoadPlan, { signal, onProgress }: LoadOptions): Promise<LoadedModel> {
    throwIfGivenUp(signal)
    onProgress({ stage: 'starting' })
    const sherpa = await importSherpa(this.#enginesDirectory)
    throwIfGivenUp(signal)
    onProgress({ stage: 'loading', fraction: 0 })
    const work = await SpeechWork.load(plan, sherpa).catch((error: unknown) => {
      throw loadFailure(plan, error)
    })
    throwIfGivenUp(signal)
    return new QueuedModel({ plan, work, lifetime: new ModelLifetime(plan.model, this.#clock, () => []) })
  }
}
