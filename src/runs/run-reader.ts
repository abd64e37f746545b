import { ModelyardError } from '../base/errors.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'

/**
 * A run as those read it who send many at a time: what is here is taken without a promise for each part (a run of two tokens without HTTP: 34 µs
 * instead of 48). To be read by one reader, to its end or until `leave`.
 */
export interface RunReader {
  /**
   * Begins the run when it is called first. @param isWhole whoever sends nothing before the end waits for it, and is not woken for each part on the
   * way @returns the result when the run has ended and all is taken; undefined: there is something to take @throws ModelyardError what the run fails with
   */
  arrival(isWhole?: boolean): Promise<Result | undefined>
  /** The next part that is here already. */
  take(): Part | undefined
  /** Nothing more is read: a run that has begun and not ended is cancelled. Twice is harmless. Not while an arrival is awaited. */
  leave(): void
}

/** The same as a stream. */
export async function* partsOf(reader: RunReader): PartStream {
  try {
    for (;;) {
      const result = await reader.arrival()
      if (result !== undefined) return result
      for (let part = reader.take(); part !== undefined; part = reader.take()) yield part
    }
  } finally {
    reader.leave()
  }
}

/** Reads a stream, for runs that have nothing else. */
export class StreamReader implements RunReader {
  readonly #parts: PartStream
  #part: Part | undefined
  #isOver = false

  constructor(parts: PartStream) {
    this.#parts = parts
  }

  async arrival(): Promise<Result | undefined> {
    if (this.#part !== undefined) return undefined
    const next = await this.#parts.next()
    if (next.done !== true) {
      this.#part = next.value
      return undefined
    }
    this.#isOver = true
    // A stream without its result is broken, never complete (R12).
    if ((next.value as Result | undefined) === undefined)
      throw new ModelyardError('engine_failed', 'The run ended without a result.')
    return next.value
  }

  take(): Part | undefined {
    const part = this.#part
    this.#part = undefined
    return part
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.return(undefined as never).catch(() => undefined)
  }
}
