import type { GgufFacts, ModelFacts } from '../model-facts.ts'
import { fileTypeName } from './file-type-name.ts'
import type { GgufHeader, GgufTensor } from './gguf-header.ts'
import { HeaderValues } from './header-values.ts'
import { invalidFile } from './invalid-file.ts'
import { MAX_LAYERS } from './limits.ts'
import { repackedBytes } from './repacked-bytes.ts'

/** Far above any model, far below what breaks arithmetic. */
const MOST = 2 ** 31

const POOLING = ['none', 'mean', 'cls', 'last', 'rank'] as const

/** Architectures that only make embeddings. */
const ENCODERS = /bert|^gemma-embedding$|^llama-embed$|^t5encoder$/

/** Architectures without attention: llama.cpp's converter writes 0 heads for them. */
const RECURRENT = /^mamba|rwkv/

/** Beginnings of text that llama.cpp adds when the file does not say. */
const BOS_BY_TOKENIZER: Readonly<Record<string, boolean>> = {
  llama: true,
  bert: true,
  gpt2: false,
  t5: false,
}
const BOS_BY_PRETOKENIZER = /^(llama3|llama-v3|llama-bpe|falcon3|pixtral)$/

export interface SpecialTokens {
  bosToken?: string
  eosToken?: string
}

/**
 * The facts of a model from its first header and the tensors of all its files.
 * @throws model_file_invalid when something is missing or would end the engine's process
 */
export function ggufFacts(
  header: GgufHeader,
  tensors: readonly GgufTensor[],
  special: SpecialTokens,
): GgufFacts {
  const values = new HeaderValues(header)
  const shape = attentionShape(header.path, values)
  return {
    architecture: values.architecture,
    ...optional('name', values.text('general.name')),
    ...optional('fileType', fileTypeName(values.count('general.file_type') ?? -1)),
    parameterCount: tensors.reduce((sum, tensor) => sum + valuesIn(tensor), 0),
    tensorBytes: tensors.reduce((sum, { bytes }) => sum + bytes, 0),
    repackedBytes: repackedBytes(tensors),
    contextLength: values.required('%.context_length', MOST),
    feedForwardLength: values.count('%.feed_forward_length') ?? 0,
    ...shape,
    vocabularySize: vocabularySize(header, values, tensors),
    ...optional('slidingWindow', values.count('%.attention.sliding_window') || undefined),
    ...optional('experts', values.count('%.expert_count') || undefined),
    tokenizer: tokenizerOf(values, special),
    ...optional('chatTemplate', values.text('tokenizer.chat_template')),
    ...optional('pooling', poolingOf(values)),
  }
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]?: Value })
}

function valuesIn(tensor: GgufTensor): number {
  return tensor.dimensions.reduce((product, dimension) => product * dimension, 1)
}

type AttentionShape = Pick<
  GgufFacts,
  'layers' | 'embeddingLength' | 'heads' | 'kvHeads' | 'keyLength' | 'valueLength'
>

function attentionShape(path: string, values: HeaderValues): AttentionShape {
  const layers = values.required('%.block_count', MAX_LAYERS)
  const embeddingLength = values.required('%.embedding_length', MOST)
  const heads = headCount(path, values)
  // llama.cpp's defaults: as many key heads as heads, and the embedding shared among the heads (BR-29).
  const kvHeads =
    values.perLayer('%.attention.head_count_kv', layers) ??
    values.perLayer('%.attention.head_count', layers) ??
    Array.from({ length: layers }, () => 0)
  const perHead = heads === 0 ? 0 : Math.floor(embeddingLength / heads)
  const keyLength = values.count('%.attention.key_length') ?? perHead
  const valueLength = values.count('%.attention.value_length') ?? perHead
  return { layers, embeddingLength, heads, kvHeads, keyLength, valueLength }
}

/** 0 heads end llama.cpp's process by an assertion, except where the architecture has no attention. */
function headCount(path: string, values: HeaderValues): number {
  const heads = values.count('%.attention.head_count')
  if (heads !== undefined && heads > 0) return heads
  const recurrent = RECURRENT.test(values.architecture) || values.count('%.ssm.inner_size') !== undefined
  if (recurrent) return 0
  if (heads === undefined) throw invalidFile(path, `has no "${values.architecture}.attention.head_count".`)
  throw invalidFile(path, 'is corrupt: it has 0 attention heads, which would end the engine.')
}

function vocabularySize(header: GgufHeader, values: HeaderValues, tensors: readonly GgufTensor[]): number {
  const listed = header.arrays.get('tokenizer.ggml.tokens')?.length
  const embedding = tensors.find(({ name }) => name === 'token_embd.weight')
  return listed ?? values.count('%.vocab_size') ?? embedding?.dimensions[1] ?? 0
}

function tokenizerOf(values: HeaderValues, special: SpecialTokens): GgufFacts['tokenizer'] {
  const model = values.text('tokenizer.ggml.model') ?? 'none'
  const pre = values.text('tokenizer.ggml.pre')
  const usual = BOS_BY_TOKENIZER[model] === true || BOS_BY_PRETOKENIZER.test(pre ?? '')
  const addBos = values.flag('tokenizer.ggml.add_bos_token') ?? usual
  return { model, ...optional('pre', pre), addBos, ...special }
}

function poolingOf(values: HeaderValues): GgufFacts['pooling'] {
  const number = values.count('%.pooling_type')
  return number === undefined ? undefined : POOLING[number]
}

/** What a model is for: its pooling says so, else its architecture. */
export function purposeOf({ architecture, pooling }: GgufFacts): ModelFacts['purpose'] {
  if (pooling === 'rank') return 'rerank'
  if (pooling !== undefined && pooling !== 'none') return 'embedding'
  return ENCODERS.test(architecture) ? 'embedding' : 'generation'
}
