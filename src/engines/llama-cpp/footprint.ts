import type { Footprint, FootprintTerms, MemoryDomain } from '../../host/memory.ts'
import type { GgufFacts } from '../../models/model-facts.ts'

const MIB = 1024 ** 2

/** Pages of Node's program, the native library and the system's, as far as a worker maps them: 40 MiB of Node, 10 of all others, measured. */
export const PROGRAM_BYTES: number = 52 * MIB

/** A worker with Node, our code and the native library, before any model: 49–56 MiB of its own were measured. */
export const PROCESS_BASE: number = PROGRAM_BYTES + 56 * MIB

/** Bytes of a tokenizer's lists and maps per token, measured: 49,152 tokens with merges 51–62 MiB, 128,000 without 78 MiB. */
const TOKEN_COST = { gpt2: 1100, others: 650 }

/** Samplers of ended runs that wait for a garbage collection, and bytes that each has for every token of the vocabulary. */
const WAITING_SAMPLERS = 16
const SAMPLED_TOKEN = 12

const FLOAT = 4

/** Bytes of one number in each type that a KV cache can have: quantised ones have blocks of 32 with one or two factors of 16 bits. */
const KV_BYTES: Record<KvCacheType, number> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
  iq4_nl: 18 / 32,
}

export type KvCacheType = 'f32' | 'f16' | 'bf16' | 'q8_0' | 'q5_1' | 'q5_0' | 'q4_1' | 'q4_0' | 'iq4_nl'

/** What a load is about, as far as memory is concerned. */
export interface LoadShape {
  contextSize: number
  slots: number
  batchSize: number
  kvCacheType: KvCacheType
  flashAttention: boolean | 'auto'
  /** Share of the layers that lie on a GPU, 0…1. */
  gpuShare: number
  /** Which; absent = none. */
  device?: MemoryDomain
}

/** Bytes of the KV cache of one token: keys and values of all layers, each with its own number of heads. */
export function kvBytesPerToken(gguf: GgufFacts, type: KvCacheType): number {
  const heads = gguf.kvHeads.reduce((sum, count) => sum + count, 0)
  return heads * (gguf.keyLength + gguf.valueLength) * KV_BYTES[type]
}

/** Cells are allocated in steps of 256. */
export function contextBytes(gguf: GgufFacts, shape: LoadShape): number {
  const cells = Math.ceil(shape.contextSize / 256) * 256 * shape.slots
  return cells * kvBytesPerToken(gguf, shape.kvCacheType)
}

/**
 * Bytes of the buffer that llama.cpp reserves for evaluating a batch, whole, as it lies on a device. Its graph holds at once either the
 * widest place of a layer and the attention's mask, or at the end the logits of every token of the batch. Within 5 % of what
 * llama.cpp 0.4.0 logs as "compute buffer size".
 */
export function reservedBytes(gguf: GgufFacts, shape: LoadShape): number {
  const { batchSize } = shape
  const logits = batchSize * FLOAT * (gguf.vocabularySize + 2 * gguf.embeddingLength)
  return Math.max(logits, layerBytes(gguf, shape)) + outputBytes(gguf, shape)
}

/**
 * Bytes that evaluating touches in the machine's memory: those of a layer, and the outputs. The logits of a whole batch are reserved as
 * well (250 MiB for a vocabulary of 128,000) and never written to, because only the last token's are asked for.
 */
export function computeBytes(gguf: GgufFacts, shape: LoadShape): number {
  return layerBytes(gguf, shape) + outputBytes(gguf, shape)
}

/**
 * The widest place of a layer, and the attention's mask: the feed-forward's three tensors or those of the attention, with four of the
 * model's width. Plain attention holds its scores with three of them.
 */
function layerBytes(gguf: GgufFacts, shape: LoadShape): number {
  const { batchSize, contextSize, flashAttention } = shape
  const rows = batchSize * FLOAT
  const kvHeads = Math.max(0, ...gguf.kvHeads)
  const attention = (gguf.heads + kvHeads) * (gguf.keyLength + gguf.valueLength)
  const widest =
    rows * (Math.max(3 * gguf.feedForwardLength * activeExperts(gguf), attention) + 4 * gguf.embeddingLength)
  if (flashAttention !== false) return widest + batchSize * contextSize * 2
  const scoring = rows * (attention + 3 * gguf.embeddingLength) + scoreBytes(gguf, shape)
  return Math.max(widest, scoring) + rows * contextSize
}

/** Bytes of plain attention's scores: of each token of a batch, in each head, for each token of the context. */
function scoreBytes(
  { heads }: GgufFacts,
  { batchSize, contextSize }: Pick<LoadShape, 'batchSize' | 'contextSize'>,
): number {
  return batchSize * contextSize * heads * FLOAT
}

/** Logits of the last token of each slot. */
function outputBytes({ vocabularySize }: GgufFacts, { slots }: LoadShape): number {
  return vocabularySize * slots * FLOAT
}

/** Of a mixture only a few experts work at a time; how many is not in the facts. */
function activeExperts({ experts }: GgufFacts): number {
  return experts === undefined ? 1 : Math.min(experts, 8)
}

/** A sampler for each slot, and those that wait to be collected. */
function samplerBytes({ vocabularySize }: GgufFacts, { slots }: LoadShape): number {
  return vocabularySize * (slots + WAITING_SAMPLERS) * SAMPLED_TOKEN
}

function tokenizerBytes({ vocabularySize, tokenizer }: GgufFacts): number {
  return vocabularySize * (tokenizer.model === 'gpt2' ? TOKEN_COST.gpt2 : TOKEN_COST.others)
}

/** What a worker with Node and our code in it costs beside the model. */
export function workerBytes(gguf: GgufFacts, shape: LoadShape): number {
  return PROCESS_BASE + tokenizerBytes(gguf) + samplerBytes(gguf, shape)
}

/**
 * What the load costs in each domain. On a machine without a GPU all is `ram`.
 * @param base what the process costs beside the model
 */
export function footprintOf(gguf: GgufFacts, shape: LoadShape, base: number): Footprint {
  const onGpu = shape.gpuShare
  const repacked = onGpu === 0 ? gguf.repackedBytes : 0
  const ram = terms(gguf, shape, 1 - onGpu, { repacked, compute: computeBytes(gguf, shape), base })
  if (onGpu === 0 || shape.device === undefined) return { ram }
  return {
    ram,
    [shape.device]: terms(gguf, shape, onGpu, { repacked: 0, compute: reservedBytes(gguf, shape), base: 0 }),
  }
}

/** Buffers are needed wherever layers lie, however few of them: a quarter at least. */
function terms(
  gguf: GgufFacts,
  shape: LoadShape,
  share: number,
  { repacked, compute, base }: { repacked: number; compute: number; base: number },
): FootprintTerms {
  return {
    weights: Math.round(gguf.tensorBytes * share + repacked),
    context: Math.round(contextBytes(gguf, shape) * share),
    compute: Math.round(compute * Math.max(share, 0.25)),
    base,
  }
}
