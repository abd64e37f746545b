import type { GgufFacts, ModelPurpose } from '../../models/model-facts.ts'
import { contextBytes, scoreBytes, type KvCacheType, type LoadShape } from '../llama-cpp/footprint.ts'
import type { NodeLlamaCppOptions } from './node-llama-cpp-options.ts'

/** Where a model's layers lie, all or some of them. */
export type EvaluationPlace = 'processor' | 'gpu'

type Room = Pick<LoadShape, 'contextSize' | 'slots'>

/** Tokens evaluated at once at most, where nobody named another number. */
const BATCH = { gpu: 512, processor: 256, plain: 64 }

/** Share of weights and context that the scores of plain attention may take. */
const SCORES_SHARE = 1 / 12

/**
 * How tokens are evaluated. A text that is pooled (embedded, or judged with a query) is evaluated in one batch: attention that looks
 * both ways, and pooling, need it whole. Others are evaluated in pieces, on a processor by plain attention where it suits. Whoever names
 * a batch or a form of attention has it.
 */
export function evaluationShape(
  gguf: GgufFacts,
  room: Room,
  { purpose, place }: { purpose: ModelPurpose; place: EvaluationPlace },
  { kvCacheType = 'f16', flashAttention, batchSize }: NodeLlamaCppOptions,
): Omit<LoadShape, 'gpuShare'> {
  const flash = { ...room, kvCacheType, flashAttention: flashAttention ?? 'auto' }
  if (purpose !== 'generation') return { ...flash, batchSize: room.contextSize }
  const limit = (most: number): number => Math.min(batchSize ?? most, room.contextSize)
  const plain = { ...room, kvCacheType, flashAttention: false, batchSize: limit(BATCH.plain) }
  const isPlain = flashAttention === undefined && place === 'processor' && suitsPlainAttention(gguf, plain)
  return isPlain ? plain : { ...flash, batchSize: limit(BATCH[place]) }
}

/**
 * On a processor llama.cpp's flash attention works in tiles of 64 tokens and is slow below that, and pieces are short there, because none
 * may take over 200 ms: SmolLM2's shape in Q4_0, 800 tokens in pieces of 48, makes 0.59 of the speed of pieces of 512 with flash
 * attention, and 0.89 without; in Q4_1 0.88 and 1.21. What it costs is memory for the scores of each head, and it needs a cache that is not quantised
 * (llama.cpp: "V cache quantization requires flash_attn").
 */
function suitsPlainAttention(gguf: GgufFacts, shape: Omit<LoadShape, 'gpuShare'>): boolean {
  const whole = gguf.tensorBytes + contextBytes(gguf, { ...shape, gpuShare: 0 })
  return isUnquantised(shape.kvCacheType) && scoreBytes(gguf, shape) <= SCORES_SHARE * whole
}

function isUnquantised(type: KvCacheType): boolean {
  return type === 'f16' || type === 'f32' || type === 'bf16'
}
