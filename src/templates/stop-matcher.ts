import { possibleBeginning } from './possible-beginning.ts'

/**
 * Finds stop strings in a text that comes in pieces of any size (BR-41). Nothing that may still become a stop string is let out,
 * and nothing else is kept back. The match does not depend on where the pieces end: the string that is complete first wins, and of
 * two that are complete at once the longer one. Empty strings are ignored.
 */
export class StopMatcher {
  readonly #stops: readonly string[]
  #held = ''
  #matched: string | undefined

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '')
  }

  /** The stop string that ended the text; what is written after it is ignored. */
  get matched(): string | undefined {
    return this.#matched
  }

  /** @returns the text that is safe to show now */
  write(piece: string): string {
    if (this.#stops.length === 0) return piece
    if (this.#matched !== undefined || piece === '') return ''
    const text = this.#held + piece
    const hit = this.#firstHit(text)
    if (hit !== undefined) {
      this.#matched = hit.stop
      this.#held = ''
      return text.slice(0, hit.end - hit.stop.length)
    }
    const kept = possibleBeginning(text, this.#stops)
    this.#held = text.slice(text.length - kept)
    return text.slice(0, text.length - kept)
  }

  /** The text ends without a stop string. @returns what was held back */
  end(): string {
    const rest = this.#held
    this.#held = ''
    return rest
  }

  #firstHit(text: string): { stop: string; end: number } | undefined {
    let first: { stop: string; end: number } | undefined
    for (const stop of this.#stops) {
      const start = text.indexOf(stop)
      if (start < 0) continue
      const end = start + stop.length
      const earlier = first === undefined || end < first.end
      if (earlier || (end === first?.end && stop.length > first.stop.length)) first = { stop, end }
    }
    return first
  }
}
