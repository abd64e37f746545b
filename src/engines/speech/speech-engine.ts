import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { EngineCapabilities, HostFacts, LoadedModel, LoadOptions, LoadPlan } from '../engine.ts'
import type { FoundPackage, Obstacle } from '../in-process/engine-package.ts'
import { PackageEngine } from '../in-process/package-engine.ts'
import { loadQueued } from '../in-process/load-queued.ts'
import { findSherpa, importSherpa } from './speech-package.ts'
import { planSpeech, SPEECH_CAPABILITIES } from './speech-plan.ts'
import { SpeechWork } from './speech-work.ts'

/**
 * Text to speech with Piper's and Kokoro's voices, through sherpa-onnx. How languages are pronounced is espeak-ng's knowledge: its data
 * is GPL, fetched by `engines install speech` and never part of this package.
 */
export class SpeechEngine extends PackageEngine {
  override readonly name = 'speech'
  override readonly capabilities: EngineCapabilities = SPEECH_CAPABILITIES

  protected override findPackage(): Promise<FoundPackage | Obstacle> {
    return findSherpa(this.enginesDirectory)
  }

  override async prepare(): Promise<void> {
    await importSherpa(this.enginesDirectory)
  }

  override plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planSpeech(spec, facts, host)
  }

  override async load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> {
    return await loadQueued(plan, options, {
      clock: this.clock,
      importPackage: () => importSherpa(this.enginesDirectory),
      loadWork: (sherpa) => SpeechWork.load(plan, sherpa),
    })
  }
}
