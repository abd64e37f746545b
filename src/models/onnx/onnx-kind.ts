import type { ModelPurpose } from '../model-facts.ts'

/** What tells how a folder with ONNX graphs is used. */
export interface OnnxKind {
  purpose: ModelPurpose
  architectures: readonly string[]
  modelType?: string
}

/** Kinds with two encoders, of texts and of images, whose vectors lie in one space. */
const SHARED_SPACES = new Set(['clip', 'siglip'])

/** Kinds that make a vector of an image and know no texts. */
const IMAGE_ENCODERS = new Set([
  'vit',
  'vit_msn',
  'deit',
  'beit',
  'dinov2',
  'dinov2_with_registers',
  'dinov3_vit',
])

const WRITERS = ['encoder_model', 'decoder_model_merged']

/** Whether texts and images become vectors that can be compared. */
export function hasSharedSpace({ purpose, modelType = '' }: OnnxKind): boolean {
  return purpose === 'embedding' && SHARED_SPACES.has(modelType)
}

/** Whether images are among what it takes. */
export function takesImages(kind: OnnxKind): boolean {
  const { purpose, architectures, modelType = '' } = kind
  if (purpose === 'classification')
    return architectures.some((name) => name.endsWith('ForImageClassification'))
  if (purpose === 'embedding') return hasSharedSpace(kind) || IMAGE_ENCODERS.has(modelType)
  return purpose === 'captioning' || purpose === 'detection'
}

/** Whether it reads or writes texts. */
export function knowsTexts(kind: OnnxKind): boolean {
  if (kind.purpose === 'captioning' || hasSharedSpace(kind)) return true
  return !takesImages(kind)
}

/** What the graphs that are loaded are called, without their precision: those of several others may lie beside them. Undefined = it is one. */
export function graphNamesOf(kind: OnnxKind): readonly string[] | undefined {
  if (hasSharedSpace(kind)) return ['text_model', 'vision_model']
  return kind.purpose === 'transcription' || kind.purpose === 'captioning' ? WRITERS : undefined
}
