import { createHash } from 'node:crypto'
import { ModelyardError } from '../../base/errors.ts'
import type { Footprint } from '../../host/memory.ts'
import type { ModelFacts, ModelPurpose, OnnxFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { requireWholeFolder } from '../../models/onnx/needed-files.ts'
import type { TaskKind } from '../../tasks/task.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type HostFacts, type LoadPlan } from '../engine.ts'
import { judgementOf } from './label-scores.ts'
import { PRECISIONS, transformersOptions, type Precision } from './transformers-options.ts'

const MIB = 2 ** 20

/** Of what a model is for, what it can be asked here. */
const TASKS: Partial<Record<ModelPurpose, TaskKind>> = {
  embedding: 'embedding',
  transcription: 'transcription',
  classification: 'classification',
  detection: 'detection',
}

export const TRANSFORMERS_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: Object.values(TASKS),
  images: true,
  zeroShot: true,
}

/** Bytes of a worker that has imported the package and made one session, with all pages of its program: measured, Linux x64, 4.3.2. */
const PROCESS_BASE = 205 * MIB

/** Bytes that evaluating takes beside the weights, measured with the largest input; scaled with nothing, because inputs are bounded. */
const COMPUTE: Partial<Record<ModelPurpose, number>> = {
  embedding: 60 * MIB,
  transcription: 400 * MIB,
  classification: 200 * MIB,
  detection: 400 * MIB,
}

/** Where nothing says how long a text may be. */
const DEFAULT_LENGTH = 512

/** Kinds of models whose table of positions has two entries that no text uses. */
const RESERVED_POSITIONS = new Set(['roberta', 'xlm-roberta', 'camembert', 'mpnet'])

/** What a load needs and can do; pure. @throws ModelyardError `unsupported`, `config_invalid`, `model_file_invalid` */
export function planTransformers(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
  const { onnx } = facts
  const task = TASKS[facts.purpose]
  if (onnx === undefined || facts.path === undefined || task === undefined) throw foreign(spec, facts)
  requireWholeFolder(spec.id, facts)
  if (onnx.architectures.some((name) => name.endsWith('ForAudioClassification'))) throw forSound(spec)
  const precision = precisionOf(spec, onnx)
  const weights = graphsOf(onnx, precision).reduce((sum, { bytes }) => sum + bytes, 0)
  const contextSize = contextOf(spec, onnx)
  const threads = Math.max(1, Math.min(spec.device.threads ?? host.cores - 1, host.cores))
  const compute = COMPUTE[facts.purpose] ?? 0
  const footprint: Footprint = { ram: { weights, context: 0, compute, base: PROCESS_BASE } }
  const parts = ['transformers', facts.contentId, precision, contextSize, threads, transformersOptions(spec)]
  return {
    engine: 'transformers',
    model: spec.id,
    key: createHash('sha256').update(JSON.stringify(parts)).digest('hex'),
    contextSize,
    // Its sessions use all their threads for one input after the other.
    slots: 1,
    threads,
    footprint,
    takenLater: { ram: compute },
    loadBytes: weights,
    capabilities: capabilitiesOf(task, facts.purpose === 'classification' ? onnx : undefined),
    spec,
    facts,
  }
}

/** Whether it is pictures that the model takes. */
export function seesImages({ architectures }: OnnxFacts): boolean {
  return architectures.some((name) => name.endsWith('ForImageClassification'))
}

/** `classifier`: what is known of a model that classifies. */
function capabilitiesOf(task: TaskKind, classifier: OnnxFacts | undefined): EngineCapabilities {
  return {
    ...TRANSFORMERS_CAPABILITIES,
    tasks: [task],
    images: classifier !== undefined && seesImages(classifier),
    zeroShot: classifier !== undefined && judgementOf(classifier.labels) !== undefined,
  }
}

/** Graphs of a precision, by their names' endings. */
export function graphsOf({ graphs }: OnnxFacts, precision: Precision): OnnxFacts['graphs'] {
  return graphs.filter(({ file }) => precisionOfFile(file) === precision)
}

/** The precision that is asked for, or the first there is. @throws ModelyardError `config_invalid` naming those there are */
export function precisionOf(spec: ModelSpec, { graphs }: OnnxFacts): Precision {
  const { precision: asked } = transformersOptions(spec)
  const there = new Set(graphs.map(({ file }) => precisionOfFile(file)))
  const wanted = Object.keys(PRECISIONS) as Precision[]
  const found = wanted.find((name) => (asked === undefined || name === asked) && there.has(name))
  if (found !== undefined) return found
  throw new ModelyardError(
    'config_invalid',
    `Model "${spec.id}" has no graphs of precision ${asked ?? 'any'}; it has: ${[...there].join(', ')}.`,
    { details: { param: 'precision' } },
  )
}

function precisionOfFile(file: string): Precision {
  const stem = file.replace(/\.onnx.*$/, '')
  const endings = Object.entries(PRECISIONS).filter(([, ending]) => ending !== '')
  const [name] = endings.find(([, ending]) => stem.endsWith(ending)) ?? ['fp32']
  return name as Precision
}

function contextOf(spec: ModelSpec, { contextLength = DEFAULT_LENGTH, modelType = '' }: OnnxFacts): number {
  const most = contextLength - (RESERVED_POSITIONS.has(modelType) ? 2 : 0)
  const { context = most } = spec
  if (context <= most) return context
  const message = `Model "${spec.id}": context must be from 1 to ${most} tokens, not ${context}.`
  throw new ModelyardError('config_invalid', message, { details: { param: 'context' } })
}

function forSound({ id }: ModelSpec): ModelyardError {
  const message = `Model "${id}" classifies sounds; the engine transformers classifies texts and images only.`
  return new ModelyardError('unsupported', message)
}

function foreign({ id }: ModelSpec, { format, purpose }: ModelFacts): ModelyardError {
  const message =
    format === 'onnx'
      ? `Model "${id}" is for ${purpose}, which the engine transformers does not do.`
      : `Model "${id}" is no folder with ONNX files; the engine transformers runs nothing else.`
  return new ModelyardError('unsupported', message, { details: { purpose } })
}
