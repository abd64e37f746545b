import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { EngineCapabilities, HostFacts, LoadPlan } from '../engine.ts'
import type { FoundPackage, Obstacle } from '../in-process/engine-package.ts'
import { QueuedEngine } from '../in-process/queued-engine.ts'
import { findSherpa, importSherpa, type ImportedSherpa } from './speech-package.ts'
import { planSpeech, SPEECH_CAPABILITIES } from './speech-plan.ts'
import { SpeechWork } from './speech-work.ts'

/**
 * Text to speech with Piper's and Kokoro's voices, through sherpa-onnx. How languages are pronounced is espeak-ng's knowledge: its data
 * is GPL, fetched by `engines install speech` and never part of this package.
 */
export class SpeechEngine extends QueuedEngine<ImportedSherpa> {
  override readonly name = 'speech'
  override readonly capabilities: EngineCapabilities = SPEECH_CAPABILITIES

  protected override findPackage(): Promise<FoundPackage | Obstacle> {
    return findSherpa(this.enginesDirectory)
  }

  protected override importPackage(): Promise<ImportedSherpa> {
    return importSherpa(this.enginesDirectory)
  }

  override plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planSpeech(spec, facts, host)
  }

  protected override loadWork(plan: LoadPlan, sherpa: ImportedSherpa): Promise<SpeechWork> {
    return SpeechWork.load(plan, sherpa)
  }
}
