import type { Footprint, FootprintTerms } from '../../host/memory.ts'
import type { GgufFacts } from '../../models/model-facts.ts'

const MIB = 1024 ** 2

/**
 * A worker with Node, our code and the native library, before any model: 50–56 MiB of its own were measured, and its share of the
 * pages of Node's program, which the server maps as well.
 */
export const PROCESS_BASE: number = 65 * MIB

/** Bytes of a tokenizer's lists and maps per token, measured: 49,152 tokens with merges 51–62 MiB, 128,000 without 78 MiB. */
const TOKEN_COST = { gpt2: 1100, others: 650 }

/** Samplers of ended runs that wait for a garbage collection; each has 12 bytes for every token of the vocabulary. */
const WAITING_SAMPLERS = 16

const KV_BYTES: Record<LoadShape['kvCacheType'], number> = { f32: 4, f16: 2, q8_0: 34 / 32 }

/** What a load is about, as far as memory is concerned. */
export interface LoadShape {
  contextSize: number
  slots: number
  batchSize: number
  kvCacheType: 'f32' | 'f16' | 'q8_0'
  flashAttention: boolean | 'auto'
  /** Share of the layers that lie on a GPU, 0…1. */
  gpuShare: number
}

/** Bytes of the KV cache of one token: keys and values of all layers, each with its own number of heads. */
export function kvBytesPerToken(gguf: GgufFacts, type: LoadShape['kvCacheType']): number {
  const heads = gguf.kvHeads.reduce((sum, count) => sum + count, 0)
  return heads * (gguf.keyLength + gguf.valueLength) * KV_BYTES[type]
}

/** Cells are allocated in steps of 256. */
export function contextBytes(gguf: GgufFacts, shape: LoadShape): number {
  const cells = Math.ceil(shape.contextSize / 256) * 256 * shape.slots
  return cells * kvBytesPerToken(gguf, shape.kvCacheType)
}

/**
 * Bytes that evaluating touches: activations of one batch at the widest place, the mask of the attention, logits and a sampler for
 * each slot. The buffer that llama.cpp reserves is larger (logits for every token of a batch, 250 MiB for a vocabulary of 128,000), but
 * that part is never written to, because only the last token's logits are asked for; measured within 15 % of the growth.
 */
export function computeBytes(gguf: GgufFacts, shape: LoadShape): number {
  const { batchSize, contextSize, slots } = shape
  const attention = 2 * gguf.heads * Math.max(gguf.keyLength, gguf.valueLength)
  const widest =
    2 * gguf.embeddingLength + Math.max(3 * gguf.feedForwardLength * activeExperts(gguf), attention)
  const mask = batchSize * contextSize * 2
  const scores = shape.flashAttention === false ? batchSize * contextSize * gguf.heads * 4 : 0
  const choosing = gguf.vocabularySize * (slots * 8 + (slots + WAITING_SAMPLERS) * 12)
  return batchSize * widest * 4 + mask + scores + choosing
}

/** Of a mixture only a few experts work at a time; how many is not in the facts. */
function activeExperts({ experts }: GgufFacts): number {
  return experts === undefined ? 1 : Math.min(experts, 8)
}

function tokenizerBytes({ vocabularySize, tokenizer }: GgufFacts): number {
  return vocabularySize * (tokenizer.model === 'gpt2' ? TOKEN_COST.gpt2 : TOKEN_COST.others)
}

/** What the load costs in each domain. On a machine without a GPU all is `ram`. */
export function footprintOf(gguf: GgufFacts, shape: LoadShape): Footprint {
  const onGpu = shape.gpuShare
  const terms = (share: number, base: number): FootprintTerms => ({
    weights: Math.round((gguf.tensorBytes + (share === 1 || onGpu === 0 ? gguf.repackedBytes : 0)) * share),
    context: Math.round(contextBytes(gguf, shape) * share),
    compute: Math.round(computeBytes(gguf, shape) * Math.max(share, 0.25)),
    base,
  })
  const ram = terms(1 - onGpu, PROCESS_BASE + tokenizerBytes(gguf))
  return onGpu === 0 ? { ram } : { ram, 'gpu:0': terms(onGpu, 0) }
}
