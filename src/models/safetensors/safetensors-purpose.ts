import type { ModelPurpose } from '../model-facts.ts'
import { factsOfConfiguration } from '../onnx/onnx-purpose.ts'

/** Encoders, by how the `transformers` library calls their classes: they make vectors, or fill gaps in texts. */
const ENCODER =
  /^(\w*(Bert|BERT|Roberta|RoBERTa|Electra|Deberta|MPNet|CLIP|Siglip|ViT|Dinov\d\w*)(Text|Vision)?Model|\w+For(MaskedLM|PreTraining|TokenClassification|QuestionAnswering)|T5EncoderModel)$/
/** What is judged by other signs than an architecture is judged from its graphs, which there are none of here. */
const JUDGED: ReadonlySet<ModelPurpose> = new Set([
  'transcription',
  'classification',
  'detection',
  'captioning',
])

/**
 * What a folder with safetensors is for, by its `config.json`: writing text, unless its architecture is known to do something else. Facts: class
 * names of the `transformers` library.
 */
export function purposeOfSafetensors(configuration: Record<string, unknown>): ModelPurpose {
  const { purpose, architectures } = factsOfConfiguration(configuration, [])
  if (JUDGED.has(purpose)) return purpose
  return architectures.length > 0 && architectures.every((name) => ENCODER.test(name))
    ? 'embedding'
    : 'generation'
}
