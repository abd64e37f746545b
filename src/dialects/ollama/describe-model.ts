import type { EngineCapabilities } from '../../engines/engine.ts'
import type { ModelDescription } from '../yard-port.ts'

/** `details` of lists and of show. */
export interface ModelDetails {
  parent_model: string
  format: string
  family: string
  families: string[]
  /** `8.0B` */
  parameter_size: string
  quantization_level: string
}

export function detailsOf({ facts, recipe }: ModelDescription): ModelDetails {
  const family = facts?.gguf?.architecture ?? facts?.safetensors?.modelType ?? ''
  return {
    parent_model: recipe?.from ?? '',
    format: facts?.format ?? '',
    family,
    families: family === '' ? [] : [family],
    parameter_size: facts?.gguf === undefined ? '' : parameterSize(facts.gguf.parameterCount),
    quantization_level: facts?.gguf?.fileType ?? facts?.safetensors?.quantization ?? '',
  }
}

/** `134.52M`, `8B`, `8.0B`: as Ollama writes numbers of parameters. */
export function parameterSize(count: number): string {
  if (count >= 1e9) return `${Number.isInteger(count / 1e9) ? count / 1e9 : (count / 1e9).toFixed(1)}B`
  if (count >= 1e6) return `${Number.isInteger(count / 1e6) ? count / 1e6 : (count / 1e6).toFixed(2)}M`
  return count >= 1e3 ? `${Math.round(count / 1e3)}K` : String(count)
}

/** What a model can do, in the words that editors look for (BR-39). */
export function capabilitiesOf({ capabilities, purpose }: ModelDescription): string[] {
  if (capabilities === null) return purpose === 'embedding' ? ['embedding'] : []
  const can: [string, (of: EngineCapabilities) => boolean][] = [
    ['completion', ({ tasks }) => tasks.includes('chat') || tasks.includes('completion')],
    ['embedding', ({ tasks }) => tasks.includes('embedding')],
    ['tools', ({ tools }) => tools],
    ['insert', ({ infill }) => infill],
    ['vision', ({ images }) => images],
    ['thinking', ({ reasoning }) => reasoning],
  ]
  const generates = capabilities.tasks.some((task) => task === 'chat' || task === 'completion')
  return can.flatMap(([name, has]) => {
    const onlyOfText = !['completion', 'embedding'].includes(name)
    return has(capabilities) && (generates || !onlyOfText) ? [name] : []
  })
}

/** `model_info`: facts of the file, or the little that is known of a model without one. Null where nothing is known. */
export function modelInfo({ facts, contextLength }: ModelDescription): Record<string, unknown> {
  const gguf = facts?.gguf
  if (gguf === undefined) {
    return { 'general.architecture': 'modelyard', 'modelyard.context_length': contextLength }
  }
  const { architecture } = gguf
  const { tokenizer } = gguf
  return {
    'general.architecture': architecture,
    ...(gguf.name === undefined ? {} : { 'general.basename': gguf.name }),
    'general.parameter_count': gguf.parameterCount,
    [`${architecture}.context_length`]: gguf.contextLength,
    [`${architecture}.block_count`]: gguf.layers,
    [`${architecture}.embedding_length`]: gguf.embeddingLength,
    [`${architecture}.feed_forward_length`]: gguf.feedForwardLength,
    [`${architecture}.attention.head_count`]: gguf.heads,
    [`${architecture}.attention.head_count_kv`]: Math.max(0, ...gguf.kvHeads),
    [`${architecture}.attention.key_length`]: gguf.keyLength,
    [`${architecture}.attention.value_length`]: gguf.valueLength,
    [`${architecture}.vocab_size`]: gguf.vocabularySize,
    'tokenizer.ggml.model': tokenizer.model,
    ...(tokenizer.pre === undefined ? {} : { 'tokenizer.ggml.pre': tokenizer.pre }),
  }
}
