import { isMap } from '../../base/is-map.ts'
import type { ModelPurpose, OnnxFacts } from '../model-facts.ts'

/** The fields of a `config.json` that are looked at; each may be anything. */
export interface OnnxConfiguration {
  model_type?: unknown
  architectures?: unknown
  max_position_embeddings?: unknown
  id2label?: unknown
  /** Of models with an encoder of texts and one of images. */
  text_config?: unknown
  /** Of models that write about images. */
  decoder?: unknown
}

/** What is known without looking at the files beside it. */
type ConfiguredFacts = Omit<OnnxFacts, 'graphs' | 'missing'>

/** What architectures are for, by the end of their names in the `transformers` library. */
const PURPOSES: readonly [ending: RegExp, purpose: ModelPurpose][] = [
  [/For(SpeechSeq2Seq|CTC)$/, 'transcription'],
  [/^(Whisper|Moonshine).*ForConditionalGeneration$/, 'transcription'],
  [/For(Sequence|Image|Audio)Classification$/, 'classification'],
  [/ForObjectDetection$/, 'detection'],
  [/^(VisionEncoderDecoder|Blip.*ForConditionalGeneration|Donut)/, 'captioning'],
]

const PURPOSES_OF_TYPES: Record<string, ModelPurpose> = {
  whisper: 'transcription',
  moonshine: 'transcription',
  'vision-encoder-decoder': 'captioning',
  detr: 'detection',
  yolos: 'detection',
}

/** What a model is for; a text encoder (embeddings) where nothing says otherwise. */
export function factsOfConfiguration(
  configuration: OnnxConfiguration | undefined,
  names: readonly string[],
): ConfiguredFacts & { purpose: ModelPurpose } {
  if (configuration === undefined) return { purpose: 'speech', ...factsOfVoice(names) }
  const { model_type: type } = configuration
  const architectures = texts(configuration.architectures)
  const byArchitecture = PURPOSES.find(([ending]) => architectures.some((name) => ending.test(name)))?.[1]
  const byType = typeof type === 'string' ? PURPOSES_OF_TYPES[type] : undefined
  const labels = labelsOf(configuration.id2label)
  const contextLength = lengthOf(configuration)
  return {
    purpose: byArchitecture ?? byType ?? 'embedding',
    ...(typeof type === 'string' && { modelType: type }),
    architectures,
    ...(contextLength !== undefined && { contextLength }),
    labels,
  }
}

/** A voice for sherpa-onnx has its tokens beside the graph, Kokoro's its speakers, too. */
function factsOfVoice(names: readonly string[]): ConfiguredFacts {
  const modelType = names.includes('voices.bin')
    ? 'kokoro'
    : names.includes('tokens.txt')
      ? 'vits'
      : undefined
  return { ...(modelType !== undefined && { modelType }), architectures: [], labels: [] }
}

/** Tokens of a text: said of the whole model, or of its part that reads or writes them. */
function lengthOf(configuration: OnnxConfiguration): number | undefined {
  const { text_config: reader, decoder: writer } = configuration
  const lengths = [configuration, reader, writer]
    .filter((part) => isMap(part))
    .flatMap(({ max_position_embeddings: most, n_positions: positions }) => [most, positions])
  return lengths.find(
    (length): length is number => typeof length === 'number' && Number.isInteger(length) && length > 0,
  )
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : []
}

/** `{"0": "NEGATIVE", "1": "POSITIVE"}` */
function labelsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const labels: string[] = []
  for (const [index, label] of Object.entries(value)) {
    if (/^\d{1,5}$/.test(index) && typeof label === 'string') labels[Number(index)] = label
  }
  return Array.from(labels, (label, index) => label ?? `LABEL_${index}`)
}
