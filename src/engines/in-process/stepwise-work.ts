import type { Part } from '../../tasks/part.ts'
import type { Work } from './queued-model.ts'

/** Work of which each step evaluates one input and makes one part. */
export function stepwise(promptTokens: number, steps: readonly (() => Promise<Part>)[]): Work {
  return async function* work(isOver) {
    yield { type: 'started', promptTokens, cachedTokens: 0 }
    for (const step of steps) {
      if (isOver()) return undefined
      yield await step()
    }
    return undefined
  }
}
