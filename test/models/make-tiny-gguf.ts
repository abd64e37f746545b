import { writeGguf, type GgufEntry, type GgufTensorData, type TensorType } from './gguf-writer.ts'
import { tinyVocabulary, tokenId, type TinyVocabulary, type TokenizerKind } from './tiny-vocabulary.ts'
import { scriptHead, SeededNumbers, signCodes, type Chain } from './tiny-weights.ts'

export interface TinyModelOptions {
  /** Default `llama`; `qwen3` for rerankers. */
  architecture?: 'llama' | 'qwen3'
  /**
   * `random`: noise that depends on the whole context and hardly ever ends. `script`: the chains, whatever came before. `tiled`: the
   * same noise again and again, for files of a GiB in seconds; so it is in the layers of a script, which add nothing.
   */
  mode?: 'random' | 'script' | 'tiled'
  chains?: readonly Chain[]
  tokenizer?: TokenizerKind
  /** Default `ChatML`; null = none. */
  chatTemplate?: string | null
  seed?: number
  dimension?: number
  layers?: number
  heads?: number
  keyValueHeads?: number
  feedForward?: number
  context?: number
  type?: TensorType
  /** Makes an embedding model, or with `rank` a reranker (`qwen3`). */
  pooling?: 'mean' | 'cls' | 'last' | 'rank'
  causal?: boolean
  addBos?: boolean
  /** At least so many tokens. */
  vocabularySize?: number
}

export interface TinyModel {
  path: string
  bytes: number
  parameters: number
  vocabulary: TinyVocabulary
}

export const CHATML_TEMPLATE: string =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

const DEFAULT_CHAIN: Chain = {
  after: '\n',
  pieces: ['Hello', '!', ' I', ' am', ' a', ' tiny', ' test', ' model', '.', ' 2', '+', '3', '=', '5'],
}

/** Values after which the noise of a tensor repeats itself where it need not be all different. */
const TILE = 65_536

const FILE_TYPES = { f32: 0, f16: 1, q4_0: 2, q8_0: 7 } as const
const POOLING = { mean: 1, cls: 2, last: 3, rank: 4 } as const

type Shape = Required<Omit<TinyModelOptions, 'pooling'>> & Pick<TinyModelOptions, 'pooling'>

function withDefaults(options: TinyModelOptions): Shape {
  const { dimension = 64, tokenizer = 'bpe' } = options
  const shape: Shape = {
    architecture: 'llama',
    mode: 'random',
    chains: [DEFAULT_CHAIN],
    tokenizer,
    chatTemplate: CHATML_TEMPLATE,
    seed: 1,
    dimension,
    layers: 2,
    heads: 4,
    keyValueHeads: 2,
    feedForward: 2 * dimension,
    context: 2048,
    type: 'f32',
    causal: true,
    addBos: tokenizer === 'spm',
    vocabularySize: 0,
    ...options,
  }
  if ((shape.dimension / shape.heads) % 2 !== 0) throw new Error('dimension / heads must be even.')
  if (shape.heads % shape.keyValueHeads !== 0) throw new Error('heads must be a multiple of keyValueHeads.')
  return shape
}

/** Writes a small model that llama.cpp loads. Scripted by default where chains are given. */
export function makeTinyModel(path: string, options: TinyModelOptions = {}): TinyModel {
  const shape = withDefaults({ ...(options.chains !== undefined && { mode: 'script' as const }), ...options })
  const pieces = shape.mode === 'script' ? shape.chains.flatMap((chain) => chain.pieces) : []
  const vocabulary = tinyVocabulary({
    kind: shape.tokenizer,
    pieces: pieces.filter((piece) => typeof piece === 'string' && piece.length > 1) as string[],
    size: shape.vocabularySize,
  })
  const tensors = modelTensors(shape, vocabulary)
  const parameters = tensors.reduce((sum, { dims }) => sum + dims.reduce((a, b) => a * b, 1), 0)
  const bytes = writeGguf(
    path,
    [...modelEntries(shape, vocabulary), ...tokenizerEntries(shape, vocabulary)],
    tensors,
  )
  return { path, bytes, parameters, vocabulary }
}

function modelEntries(shape: Shape, vocabulary: TinyVocabulary): GgufEntry[] {
  const { architecture, pooling } = shape
  const headLength = shape.dimension / shape.heads
  return [
    ['general.architecture', 'string', architecture],
    ['general.type', 'string', 'model'],
    ['general.name', 'string', 'tiny-test'],
    ['general.file_type', 'u32', FILE_TYPES[shape.type]],
    ['general.quantization_version', 'u32', 2],
    [`${architecture}.context_length`, 'u32', shape.context],
    [`${architecture}.embedding_length`, 'u32', shape.dimension],
    [`${architecture}.block_count`, 'u32', shape.layers],
    [`${architecture}.feed_forward_length`, 'u32', shape.feedForward],
    [`${architecture}.attention.head_count`, 'u32', shape.heads],
    [`${architecture}.attention.head_count_kv`, 'u32', shape.keyValueHeads],
    [`${architecture}.attention.layer_norm_rms_epsilon`, 'f32', 1e-5],
    [`${architecture}.attention.key_length`, 'u32', headLength],
    [`${architecture}.attention.value_length`, 'u32', headLength],
    [`${architecture}.rope.dimension_count`, 'u32', headLength],
    [`${architecture}.rope.freq_base`, 'f32', 10_000],
    [`${architecture}.vocab_size`, 'u32', vocabulary.tokens.length],
    ...(pooling === undefined
      ? []
      : [[`${architecture}.pooling_type`, 'u32', POOLING[pooling]] as GgufEntry]),
    ...(shape.causal ? [] : [[`${architecture}.attention.causal`, 'bool', false] as GgufEntry]),
    ...(pooling === 'rank'
      ? [[`${architecture}.classifier.output_labels`, 'array:string', ['yes', 'no']] as GgufEntry]
      : []),
  ]
}

function tokenizerEntries(shape: Shape, vocabulary: TinyVocabulary): GgufEntry[] {
  const spm = shape.tokenizer === 'spm'
  const bos = tokenId(vocabulary, spm ? '<s>' : '<|endoftext|>')
  const kind: GgufEntry[] = spm
    ? [
        ['tokenizer.ggml.scores', 'array:f32', vocabulary.scores],
        ['tokenizer.ggml.add_space_prefix', 'bool', false],
        ['tokenizer.ggml.unknown_token_id', 'u32', 0],
      ]
    : [['tokenizer.ggml.merges', 'array:string', ['t h', 'th e']]]
  return [
    ['tokenizer.ggml.model', 'string', spm ? 'llama' : 'gpt2'],
    ['tokenizer.ggml.pre', 'string', spm ? 'default' : 'qwen2'],
    ['tokenizer.ggml.tokens', 'array:string', vocabulary.tokens],
    ['tokenizer.ggml.token_type', 'array:i32', vocabulary.types],
    ...kind,
    ['tokenizer.ggml.bos_token_id', 'u32', bos],
    ['tokenizer.ggml.eos_token_id', 'u32', tokenId(vocabulary, '<|im_end|>')],
    ['tokenizer.ggml.padding_token_id', 'u32', spm ? 0 : bos],
    ['tokenizer.ggml.add_bos_token', 'bool', shape.addBos],
    ['tokenizer.ggml.add_eos_token', 'bool', false],
    ...(shape.chatTemplate === null
      ? []
      : [['tokenizer.chat_template', 'string', shape.chatTemplate] as GgufEntry]),
  ]
}

function modelTensors(shape: Shape, vocabulary: TinyVocabulary): GgufTensorData[] {
  const { dimension, type, pooling } = shape
  const size = vocabulary.tokens.length
  const random = new SeededNumbers(shape.seed, shape.mode === 'random' ? undefined : TILE)
  const codes = shape.mode === 'script' ? signCodes(size, dimension) : undefined
  const embedding = codes === undefined ? random.tensor(dimension * size, 1) : (): Float32Array => codes
  const head =
    codes === undefined
      ? random.tensor(dimension * size, 1.5 / Math.sqrt(dimension))
      : (): Float32Array => scriptHead(codes, dimension, shape.chains, vocabulary)
  const labels = random.tensor(dimension * 2, 2 / Math.sqrt(dimension))
  return [
    { name: 'token_embd.weight', dims: [dimension, size], type, data: embedding },
    ones('output_norm.weight', dimension),
    { name: 'output.weight', dims: [dimension, size], type, data: head },
    ...Array.from({ length: shape.layers }, (_, layer) => layerTensors(shape, layer, random)).flat(),
    ...(pooling === 'rank' ? [{ name: 'cls.output.weight', dims: [dimension, 2], type, data: labels }] : []),
  ]
}

function ones(name: string, length: number): GgufTensorData {
  return { name, dims: [length], type: 'f32', data: () => new Float32Array(length).fill(1) }
}

/** One transformer block; in a scripted model it adds nothing. */
function layerTensors(shape: Shape, layer: number, random: SeededNumbers): GgufTensorData[] {
  const { dimension, feedForward, heads, keyValueHeads, type } = shape
  const headLength = dimension / heads
  const deviation = 1 / Math.sqrt(dimension)
  const silent = shape.mode === 'script'
  const matrix = (name: string, rows: number, columns: number, spread: number): GgufTensorData => ({
    name: `blk.${layer}.${name}.weight`,
    dims: [rows, columns],
    type,
    data: spread === 0 ? () => new Float32Array(rows * columns) : random.tensor(rows * columns, spread),
  })
  return [
    ones(`blk.${layer}.attn_norm.weight`, dimension),
    matrix('attn_q', dimension, dimension, 2 * deviation),
    matrix('attn_k', dimension, keyValueHeads * headLength, 2 * deviation),
    matrix('attn_v', dimension, keyValueHeads * headLength, deviation),
    matrix('attn_output', dimension, dimension, silent ? 0 : deviation),
    ...(shape.architecture === 'qwen3'
      ? [
          ones(`blk.${layer}.attn_q_norm.weight`, headLength),
          ones(`blk.${layer}.attn_k_norm.weight`, headLength),
        ]
      : []),
    ones(`blk.${layer}.ffn_norm.weight`, dimension),
    matrix('ffn_gate', dimension, feedForward, deviation),
    matrix('ffn_up', dimension, feedForward, deviation),
    matrix('ffn_down', feedForward, dimension, silent ? 0 : 1 / Math.sqrt(feedForward)),
  ]
}

/** Writes a LoRA adapter of rank 4 for a random model of the same shape. */
export function makeTinyLora(path: string, options: TinyModelOptions & { scale?: number } = {}): number {
  const { architecture, dimension, layers, heads, keyValueHeads } = withDefaults(options)
  const { scale = 0.5 } = options
  const random = new SeededNumbers(99)
  const rank = 4
  const pair = (name: string, rows: number, columns: number): GgufTensorData[] => [
    {
      name: `${name}.weight.lora_a`,
      dims: [rows, rank],
      type: 'f32',
      data: random.tensor(rows * rank, scale),
    },
    {
      name: `${name}.weight.lora_b`,
      dims: [rank, columns],
      type: 'f32',
      data: random.tensor(rank * columns, scale),
    },
  ]
  const tensors = Array.from({ length: layers }, (_, layer) => [
    ...pair(`blk.${layer}.attn_q`, dimension, dimension),
    ...pair(`blk.${layer}.attn_v`, dimension, (dimension / heads) * keyValueHeads),
  ]).flat()
  const entries: GgufEntry[] = [
    ['general.architecture', 'string', architecture],
    ['general.type', 'string', 'adapter'],
    ['general.name', 'string', 'tiny-lora'],
    ['adapter.type', 'string', 'lora'],
    ['adapter.lora.alpha', 'f32', 8],
  ]
  return writeGguf(path, entries, tensors)
}
