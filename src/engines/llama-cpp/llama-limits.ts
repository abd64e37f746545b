/** What this engine takes at most, whatever the model and the machine. */
export const LLAMA_LIMITS: { slots: number; cells: number } = {
  slots: 256,
  /** Tokens of all slots together. llama.cpp keeps a record for every one, and counts them in 32 bits; far below that it eats memory without an error. */
  cells: 2 ** 27,
}
