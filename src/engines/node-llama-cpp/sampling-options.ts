import { randomInt } from 'node:crypto'
import type { ModelDefaults } from '../../models/model-spec.ts'
import type { Sampling } from '../../tasks/sampling.ts'
import type { LlamaEvaluateOptions } from './llama-module.ts'

/** llama.cpp's own defaults, where neither the request nor the model says anything. */
const DEFAULTS = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 }

/** Tokens that `repeatPenalty` looks back on, as in llama.cpp and Ollama. */
const REPEAT_WINDOW = 64

/** All choices of how tokens are picked, made. */
export interface ResolvedSampling {
  temperature: number
  topK: number
  topP: number
  minP: number
  seed: number
  repeatPenalty: number
  presencePenalty: number
  frequencyPenalty: number
}

/** The request's values, else the model's, else llama.cpp's. Without a seed each run gets its own: the engine's would be the second of the day. */
export function resolveSampling(sampling: Sampling, defaults: ModelDefaults): ResolvedSampling {
  const pick = (name: keyof typeof DEFAULTS): number => sampling[name] ?? defaults[name] ?? DEFAULTS[name]
  return {
    temperature: pick('temperature'),
    topK: pick('topK'),
    topP: pick('topP'),
    minP: pick('minP'),
    seed: sampling.seed ?? defaults.seed ?? randomInt(2 ** 32),
    repeatPenalty: sampling.repeatPenalty ?? defaults.repeatPenalty ?? 1,
    presencePenalty: sampling.presencePenalty ?? defaults.presencePenalty ?? 0,
    frequencyPenalty: sampling.frequencyPenalty ?? defaults.frequencyPenalty ?? 0,
  }
}

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
