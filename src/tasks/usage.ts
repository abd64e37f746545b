/** Exact token counts of one run, as the engine confirms them. */
export interface Usage {
  /** All tokens of the rendered prompt, reused ones included. */
  promptTokens: number
  /** Prompt tokens that were already in the slot and were not evaluated again. Part of `promptTokens`. */
  cachedTokens: number
  /** Tokens generated, reasoning included; the end-of-turn token is not counted. */
  completionTokens: number
  /** Generated tokens that were reasoning. Part of `completionTokens`. */
  reasoningTokens: number
  /** Whoever ran it does not say how many there were: the numbers are zero for want of any, and are shown to nobody. */
  unknown?: true
}

/** Milliseconds of the stages inside the engine. */
export interface EngineTimings {
  prefill: number
  decode: number
}

/** A usage with nothing in it: the start of a sum. */
export const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }
