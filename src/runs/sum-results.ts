import type { Result } from '../tasks/part.ts'

/** Two runs as one: how the last ended, and what both cost. */
export function addResults(first: Result, last: Result): Result {
  return {
    ...last,
    usage: {
      promptTokens: first.usage.promptTokens + last.usage.promptTokens,
      cachedTokens: first.usage.cachedTokens + last.usage.cachedTokens,
      completionTokens: first.usage.completionTokens + last.usage.completionTokens,
      reasoningTokens: first.usage.reasoningTokens + last.usage.reasoningTokens,
      ...((first.usage.unknown ?? last.usage.unknown) === true && { unknown: true as const }),
    },
    timings: {
      prefill: first.timings.prefill + last.timings.prefill,
      decode: first.timings.decode + last.timings.decode,
    },
  }
}
