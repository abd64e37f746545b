import { randomInt } from 'node:crypto'
import type { ModelDefaults } from '../../models/model-spec.ts'
import type { Sampling } from '../../tasks/sampling.ts'

/** Tokens that `repeatPenalty` looks back on, as in llama.cpp and Ollama. */
export const REPEAT_WINDOW = 64

/** llama.cpp's own defaults, where neither the request nor the model says anything. */
const DEFAULTS = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 }

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
