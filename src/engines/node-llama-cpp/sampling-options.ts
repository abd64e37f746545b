import { REPEAT_WINDOW, type ResolvedSampling } from '../llama-cpp/resolve-sampling.ts'
import type { LlamaEvaluateOptions } from './llama-module.ts'

/** What the penalties look back on. */
export interface PenalizedTokens {
  prompt: readonly number[]
  /** Generated so far; read again before each token. */
  answer: readonly number[]
  /** Most tokens that a slot can hold. */
  contextSize: number
}

/**
 * `repeatPenalty` looks back on the last 64 tokens, the prompt's included; presence and frequency penalties alone look at the whole
 * answer and nothing else, as OpenAI has it.
 */
export function evaluateOptions(
  sampling: ResolvedSampling,
  tokens: PenalizedTokens,
  tokenBias: LlamaEvaluateOptions['tokenBias'] | undefined,
): LlamaEvaluateOptions {
  const { temperature, topK, topP, minP, seed } = sampling
  const penalty = penaltyOf(sampling, tokens)
  return {
    temperature,
    topK,
    topP,
    minP,
    seed,
    yieldEogToken: false,
    ...(penalty !== undefined && { repeatPenalty: penalty }),
    ...(tokenBias !== undefined && { tokenBias }),
  }
}

function penaltyOf(
  { repeatPenalty, presencePenalty, frequencyPenalty }: ResolvedSampling,
  { prompt, answer, contextSize }: PenalizedTokens,
): LlamaEvaluateOptions['repeatPenalty'] {
  const penalties = { penalty: repeatPenalty, presencePenalty, frequencyPenalty }
  if (repeatPenalty !== 1) {
    const promptEnd = prompt.slice(-REPEAT_WINDOW)
    const punishTokens = (): number[] => [...promptEnd, ...answer.slice(-REPEAT_WINDOW)].slice(-REPEAT_WINDOW)
    return { ...penalties, maxPunishTokens: REPEAT_WINDOW, punishTokens }
  }
  if (presencePenalty === 0 && frequencyPenalty === 0) return undefined
  return { ...penalties, maxPunishTokens: contextSize, punishTokens: () => answer }
}
