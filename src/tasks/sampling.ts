/** How tokens are chosen and when generation ends. Absent = the model's default, then the engine's. Zero is a value. */
export interface Sampling {
  /** ≥ 0; 0 is greedy. */
  temperature?: number
  /** 0…1 */
  topP?: number
  /** ≥ 0; 0 = off */
  topK?: number
  /** 0…1 */
  minP?: number
  /** 32-bit unsigned */
  seed?: number
  /** −2…2 */
  presencePenalty?: number
  /** −2…2 */
  frequencyPenalty?: number
  /** > 0; 1 = off (the default) */
  repeatPenalty?: number
  /** token id → −100…100 */
  logitBias?: Record<number, number>
}

/** What every text-generating task has in common. */
export interface TextGeneration {
  sampling: Sampling
  /** Most tokens to generate; absent = until the context is full. 0 generates nothing and ends with `length`. */
  maxTokens?: number
  /** Generation ends before any of these; they are not part of the text. */
  stop: string[]
  /** Per generated token, the log-probability and this many alternatives. Absent = no logprobs; 0 = only the chosen token. */
  topLogprobs?: number
}
