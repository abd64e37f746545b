import type { ModelPurpose } from '../../models/model-facts.ts'
import type { LoadShape } from '../llama-cpp/footprint.ts'
import type { NodeLlamaCppOptions } from './node-llama-cpp-options.ts'

/** Where a model's layers lie, all or some of them. */
export type EvaluationPlace = 'processor' | 'gpu'

/** Tokens evaluated at once at most, where nobody named another number. */
const BATCH = { gpu: 512, processor: 256 }

/**
 * The same without flash attention on a processor: what it saves on memory for scores (batch × context × heads) it does not lose in
 * speed, because pieces are short there (docs/decisions, attention on a processor).
 */
const PLAIN_BATCH = 64

/**
 * How tokens are evaluated. A text that is pooled (embedded, or judged with a query) is evaluated in one batch: attention that looks
 * both ways, and pooling, need it whole. Others are evaluated in pieces. Whoever names a batch or a form of attention has it.
 */
export function evaluationShape(
  room: Pick<LoadShape, 'contextSize' | 'slots'>,
  { purpose, place }: { purpose: ModelPurpose; place: EvaluationPlace },
  { kvCacheType = 'f16', flashAttention = 'auto', batchSize }: NodeLlamaCppOptions,
): Omit<LoadShape, 'gpuShare'> {
  const isPlain = flashAttention === false && place === 'processor'
  const most = batchSize ?? (isPlain ? PLAIN_BATCH : BATCH[place])
  return {
    ...room,
    kvCacheType,
    flashAttention,
    batchSize: purpose === 'generation' ? Math.min(most, room.contextSize) : room.contextSize,
  }
}
