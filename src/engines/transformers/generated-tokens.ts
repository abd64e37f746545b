/** Writes tokens and tells each as it comes; settles when no more do. */
export type Generation = (onToken: (token: number) => void) => Promise<unknown>

/**
 * The tokens of a generation for a reader that asks for the next. Whoever stops reading stops the generation by other means: its end is
 * waited for. @throws what it throws, after the tokens that came before
 */
export async function* generatedTokens(generate: Generation): AsyncGenerator<number, void, void> {
  const came: number[] = []
  const state = { isOver: false }
  let wake = (): void => undefined
  const generation = generate((token) => {
    came.push(token)
    wake()
  }).finally(() => {
    state.isOver = true
    wake()
  })
  // It is awaited below, later than it may fail.
  generation.catch(() => undefined)
  try {
    while (!state.isOver || came.length > 0) {
      const token = came.shift()
      if (token !== undefined) yield token
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    await generation
  }
}
