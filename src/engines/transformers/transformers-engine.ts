import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { EngineCapabilities, HostFacts, LoadPlan } from '../engine.ts'
import type { FoundPackage, Obstacle } from '../in-process/engine-package.ts'
import { QueuedEngine } from '../in-process/queued-engine.ts'
import type { WholeInputWork } from '../in-process/queued-model.ts'
import { hasSharedSpace, takesImages } from '../../models/onnx/onnx-kind.ts'
import { CaptioningWork } from './captioning-work.ts'
import { ClassificationWork } from './classification-work.ts'
import { DetectionWork } from './detection-work.ts'
import { EmbeddingWork } from './embedding-work.ts'
import { ImageClassificationWork } from './image-classification-work.ts'
import { ImageVectors } from './image-vectors.ts'
import { SharedSpaceWork } from './shared-space-work.ts'
import { TextVectors } from './text-vectors.ts'
import { TranscriptionWork } from './transcription-work.ts'
import { findTransformers, importTransformers, type ImportedTransformers } from './transformers-package.ts'
import { kindOf, planTransformers, TRANSFORMERS_CAPABILITIES } from './transformers-plan.ts'

/**
 * ONNX models through transformers.js and onnxruntime: folders as they lie on the hub, on the CPU. The package is optional and imported
 * with the first load. One input at a time; what was begun in native code ends before the next begins.
 */
export class TransformersEngine extends QueuedEngine<ImportedTransformers> {
  override readonly name = 'transformers'
  override readonly capabilities: EngineCapabilities = TRANSFORMERS_CAPABILITIES

  protected override findPackage(): Promise<FoundPackage | Obstacle> {
    return findTransformers(this.enginesDirectory)
  }

  protected override importPackage(): Promise<ImportedTransformers> {
    return importTransformers(this.enginesDirectory)
  }

  override plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planTransformers(spec, facts, host)
  }

  protected override loadWork(plan: LoadPlan, imported: ImportedTransformers): Promise<WholeInputWork> {
    return loadWork(plan, imported, this.clock)
  }
}

async function loadWork(
  plan: LoadPlan,
  imported: ImportedTransformers,
  clock: Clock,
): Promise<WholeInputWork> {
  const { purpose } = plan.facts
  if (purpose === 'embedding') return await loadEmbedder(plan, imported, clock)
  if (purpose === 'transcription') return await TranscriptionWork.load(plan, imported, clock)
  if (purpose === 'classification') return await loadClassifier(plan, imported, clock)
  if (purpose === 'detection') return await DetectionWork.load(plan, imported)
  if (purpose === 'captioning') return await CaptioningWork.load(plan, imported)
  throw new ModelyardError('unsupported', `Model "${plan.model}" is for ${purpose}.`)
}

async function loadClassifier(
  plan: LoadPlan,
  imported: ImportedTransformers,
  clock: Clock,
): Promise<WholeInputWork> {
  return takesImages(kindOf(plan.facts))
    ? await ImageClassificationWork.load(plan, imported)
    : await ClassificationWork.load(plan, imported, clock)
}

/** Its first vector tells how long all are. */
async function loadEmbedder(
  plan: LoadPlan,
  imported: ImportedTransformers,
  clock: Clock,
): Promise<WholeInputWork> {
  const kind = kindOf(plan.facts)
  const work = hasSharedSpace(kind)
    ? await loadSharedSpace(plan, imported, clock)
    : takesImages(kind)
      ? new EmbeddingWork(plan, { images: await ImageVectors.load(plan, imported) }, clock)
      : new EmbeddingWork(plan, { texts: await TextVectors.load(plan, imported.module) }, clock)
  await work.warmUp()
  return work
}

async function loadSharedSpace(
  plan: LoadPlan,
  imported: ImportedTransformers,
  clock: Clock,
): Promise<SharedSpaceWork> {
  const texts = await TextVectors.load(plan, imported.module, 'text_model')
  const images = await ImageVectors.load(plan, imported, 'vision_model')
  const embedding = new EmbeddingWork(plan, { texts, images }, clock)
  return new SharedSpaceWork(plan, { texts, images, embedding })
}
