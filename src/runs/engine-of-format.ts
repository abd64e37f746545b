import type { ModelFacts } from '../models/model-facts.ts'

/** What is known of files before all of them are here. */
export type FileKind = Pick<ModelFacts, 'format'> & Partial<Pick<ModelFacts, 'purpose'>>

/** The engine of a model that names none: what runs files of its format. Undefined for a model without files. */
export function engineOfFormat({ format, purpose }: FileKind): string | undefined {
  if (format === 'gguf') return 'node-llama-cpp'
  if (format === 'safetensors') return 'mlx'
  if (format !== 'onnx') return undefined
  return purpose === 'speech' ? 'speech' : 'transformers'
}
