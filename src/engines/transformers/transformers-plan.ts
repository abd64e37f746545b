import { basename } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import type { Footprint } from '../../host/memory.ts'
import type { ModelFacts, ModelPurpose, OnnxFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { requireWholeFolder } from '../../models/onnx/needed-files.ts'
import { graphNamesOf, hasSharedSpace, takesImages, type OnnxKind } from '../../models/onnx/onnx-kind.ts'
import type { TaskKind } from '../../tasks/task.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type HostFacts, type LoadPlan } from '../engine.ts'
import { hashOf, threadsOf } from '../planning.ts'
import { judgementOf } from './label-scores.ts'
import { PRECISIONS, transformersOptions, type Precision } from './transformers-options.ts'

const MIB = 2 ** 20

/** Of what a model is for, what it can be asked here. */
const TASKS: Partial<Record<ModelPurpose, TaskKind>> = {
  embedding: 'embedding',
  transcription: 'transcription',
  classification: 'classification',
  detection: 'detection',
  captioning: 'captioning',
}

export const TRANSFORMERS_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: Object.values(TASKS),
  images: true,
  zeroShot: true,
  imageEmbedding: true,
  tokenizes: true,
}

/** Bytes of a worker that has imported the package and made one session, with all pages of its program: measured, Linux x64, 4.3.2. */
const PROCESS_BASE = 205 * MIB

/** Bytes that evaluating takes beside the weights, measured with the largest input; scaled with nothing, because inputs are bounded. */
const COMPUTE: Partial<Record<ModelPurpose, number>> = {
  embedding: 60 * MIB,
  transcription: 400 * MIB,
  classification: 200 * MIB,
  detection: 400 * MIB,
  captioning: 400 * MIB,
}

/** Beside that of texts: the pixels of an image, and what becomes of them. */
const IMAGE_COMPUTE = 140 * MIB

/** Where nothing says how long a text may be: newer configurations leave out what all models of a kind have. */
const DEFAULT_LENGTH = 512
const USUAL_LENGTHS: Partial<Record<string, number>> = { clip: 77, siglip: 64 }

/** Kinds of models whose table of positions has two entries that no text uses. */
const RESERVED_POSITIONS = new Set(['roberta', 'xlm-roberta', 'camembert', 'mpnet'])

/** What a load needs and can do; pure. @throws ModelyardError `unsupported`, `config_invalid`, `model_file_invalid` */
export function planTransformers(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
  const { onnx } = facts
  const task = TASKS[facts.purpose]
  if (onnx === undefined || facts.path === undefined || task === undefined) throw foreign(spec, facts)
  requireWholeFolder(spec.id, facts)
  if (onnx.architectures.some((name) => name.endsWith('ForAudioClassification'))) throw forSound(spec)
  const kind = kindOf(facts)
  if (task === 'captioning' && kind.modelType !== 'vision-encoder-decoder') throw otherWriter(spec, kind)
  const precision = precisionOf(spec, facts)
  const weights = weightsOf(facts, precision)
  const contextSize = contextOf(spec, onnx)
  const threads = threadsOf(spec, host)
  const compute = computeOf(kind)
  const footprint: Footprint = { ram: { weights, context: 0, compute, base: PROCESS_BASE } }
  // The precision once, as it was decided: whoever writes the usual one down has the same load.
  const { precision: _, ...options } = transformersOptions(spec)
  const parts = ['transformers', facts.contentId, precision, contextSize, threads, options]
  return {
    engine: 'transformers',
    model: spec.id,
    key: hashOf(parts),
    contextSize,
    // Its sessions use all their threads for one input after the other.
    slots: 1,
    threads,
    footprint,
    takenLater: { ram: compute },
    loadBytes: weights,
    capabilities: capabilitiesOf(task, kind, onnx),
    spec,
    facts,
  }
}

/** What tells how the model is used. */
export function kindOf({ purpose, onnx }: ModelFacts): OnnxKind {
  const { architectures = [], modelType } = onnx ?? {}
  return { purpose, architectures, ...(modelType !== undefined && { modelType }) }
}

function computeOf(kind: OnnxKind): number {
  const isOfPictures = kind.purpose === 'embedding' && takesImages(kind)
  return (COMPUTE[kind.purpose] ?? 0) + (isOfPictures ? IMAGE_COMPUTE : 0)
}

function capabilitiesOf(task: TaskKind, kind: OnnxKind, { labels }: OnnxFacts): EngineCapabilities {
  // SigLIP judges each label alone, with numbers that lie in a graph that is not loaded.
  const comparesLabels = hasSharedSpace(kind) && kind.modelType === 'clip'
  const isOfImages = takesImages(kind)
  const judgesSentences = task === 'classification' && !isOfImages && judgementOf(labels) !== undefined
  return {
    ...TRANSFORMERS_CAPABILITIES,
    tasks: comparesLabels ? [task, 'classification'] : [task],
    images: comparesLabels || (task === 'classification' && isOfImages),
    zeroShot: comparesLabels || judgesSentences,
    imageEmbedding: task === 'embedding' && isOfImages,
  }
}

/** Bytes of the graphs that are loaded, of this precision. */
function weightsOf(facts: ModelFacts, precision: Precision): number {
  const loaded = graphsOf(facts).filter(({ file }) => precisionOfFile(file) === precision)
  return loaded.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Of all that lie in the folder those that are loaded, in every precision. */
function graphsOf(facts: ModelFacts): OnnxFacts['graphs'] {
  const { graphs = [] } = facts.onnx ?? {}
  const names = graphNamesOf(kindOf(facts))
  return names === undefined
    ? graphs
    : graphs.filter(({ file }) => names.some((name) => basename(file).startsWith(name)))
}

/** The precision that is asked for, or the first that all graphs have. @throws ModelyardError `config_invalid` naming those there are */
export function precisionOf(spec: ModelSpec, facts: ModelFacts): Precision {
  const { precision: asked } = transformersOptions(spec)
  const there = precisionsOf(facts)
  const wanted = Object.keys(PRECISIONS) as Precision[]
  const found = wanted.find((name) => (asked === undefined || name === asked) && there.has(name))
  if (found !== undefined) return found
  throw new ModelyardError(
    'config_invalid',
    `Model "${spec.id}" has no graphs of precision ${asked ?? 'any'}; it has: ${[...there].join(', ') || 'none that all of them have'}.`,
    { details: { param: 'precision' } },
  )
}

/** Those that each of the graphs has that are loaded together. */
function precisionsOf(facts: ModelFacts): Set<Precision> {
  const graphs = graphsOf(facts)
  const [first = [], ...others] = (graphNamesOf(kindOf(facts)) ?? ['']).map((name) =>
    graphs.filter(({ file }) => basename(file).startsWith(name)).map(({ file }) => precisionOfFile(file)),
  )
  return new Set(first.filter((precision) => others.every((all) => all.includes(precision))))
}

function precisionOfFile(file: string): Precision {
  const stem = file.replace(/\.onnx.*$/, '')
  const endings = Object.entries(PRECISIONS).filter(([, ending]) => ending !== '')
  const [name] = endings.find(([, ending]) => stem.endsWith(ending)) ?? ['fp32']
  return name as Precision
}

function contextOf(spec: ModelSpec, { contextLength, modelType = '' }: OnnxFacts): number {
  const length = contextLength ?? USUAL_LENGTHS[modelType] ?? DEFAULT_LENGTH
  const most = length - (RESERVED_POSITIONS.has(modelType) ? 2 : 0)
  const { context = most } = spec
  if (context <= most) return context
  const message = `Model "${spec.id}": context must be from 1 to ${most} tokens, not ${context}.`
  throw new ModelyardError('config_invalid', message, { details: { param: 'context' } })
}

function forSound({ id }: ModelSpec): ModelyardError {
  const message = `Model "${id}" classifies sounds; the engine transformers classifies texts and images only.`
  return new ModelyardError('unsupported', message)
}

function otherWriter({ id }: ModelSpec, { modelType = 'of an unknown kind' }: OnnxKind): ModelyardError {
  const message = `Model "${id}" is ${modelType}; of models that write about images the engine transformers runs vision-encoder-decoder (ViT-GPT2, TrOCR, Donut).`
  return new ModelyardError('unsupported', message)
}

function foreign({ id }: ModelSpec, { format, purpose }: ModelFacts): ModelyardError {
  const message =
    format === 'onnx'
      ? `Model "${id}" is for ${purpose}, which the engine transformers does not do.`
      : `Model "${id}" is no folder with ONNX files; the engine transformers runs nothing else.`
  return new ModelyardError('unsupported', message, { details: { purpose } })
}
