import type { ModelDefaults } from '../../models/model-spec.ts'
import type { TextGeneration } from '../../tasks/sampling.ts'
import { REPEAT_WINDOW, resolveSampling } from '../llama-cpp/resolve-sampling.ts'

/** What of a request to the launcher stays the same for the whole answer. */
export interface MlxSampling {
  sampling: { temperature: number; topP: number; topK: number; minP: number }
  penalties: { repeat: number; presence: number; frequency: number; window: number }
  logitBias: Record<number, number>
  /** Only where it decides anything: a request with a seed is answered alone. */
  seed?: number
}

/** As much as forbids a token. */
const NEVER = -1e9

/** How tokens are chosen. Without a wish for a seed none is sent: the engine's own chance is one. */
export function mlxSampling({ sampling }: TextGeneration, defaults: ModelDefaults): MlxSampling {
  const resolved = resolveSampling(sampling, defaults)
  const { temperature, topP, topK, minP } = resolved
  const { repeatPenalty: repeat, presencePenalty: presence, frequencyPenalty: frequency } = resolved
  const seed = sampling.seed ?? defaults.seed
  const bias = Object.entries(sampling.logitBias ?? {})
  return {
    sampling: { temperature, topP, topK, minP },
    penalties: { repeat, presence, frequency, window: REPEAT_WINDOW },
    // −100 forbids, as in the OpenAI API; logits of some models go further.
    logitBias: Object.fromEntries(bias.map(([id, value]) => [id, value <= -100 ? NEVER : value])),
    ...(seed !== undefined && temperature > 0 && { seed }),
  }
}

export function withForbidden(sampling: MlxSampling, ids: readonly number[]): MlxSampling {
  if (ids.length === 0) return sampling
  const forbidden = Object.fromEntries(ids.map((id) => [id, NEVER]))
  return { ...sampling, logitBias: { ...sampling.logitBias, ...forbidden } }
}
