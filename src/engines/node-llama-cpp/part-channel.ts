import { onAbort } from '../../base/abort.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'

/** Parts that may wait for their reader; then the run pauses (P16). */
const LEAD = 32

type Taken = { part: Part } | { result: Result }

/**
 * Hands the parts of a run to its reader. The run goes on while the reader works, so that its time is not lost to the next token, but
 * only so far. A failure reaches the reader at once, whatever the run is waiting for in native code.
 */
export class PartChannel {
  readonly #parts: Part[] = []
  #result: Result | undefined
  #failure: { reason: unknown } | undefined
  #closed = false
  #wakeReader: (() => void) | undefined
  #wakeWriter: (() => void) | undefined

  /** Nobody reads any more: the run stops at its next step. */
  get closed(): boolean {
    return this.#closed
  }

  /** Resolves when there is room for more. */
  async put(part: Part): Promise<void> {
    if (this.#closed) return
    this.#parts.push(part)
    this.#wakeReader?.()
    while (this.#parts.length >= LEAD && !this.#closed) {
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve
      })
    }
  }

  end(result: Result): void {
    this.#result = result
    this.#wakeReader?.()
  }

  /** What is waiting to be read is dropped. The first failure counts. */
  fail(reason: unknown): void {
    if (this.#closed || this.#result !== undefined) return
    this.#failure = { reason }
    this.close()
    this.#wakeReader?.()
  }

  /** The reader is gone. */
  close(): void {
    this.#closed = true
    this.#parts.length = 0
    this.#wakeWriter?.()
  }

  /** The next part, or the result after the last; throws what the run failed with. */
  async take(): Promise<Taken> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.reason
      const part = this.#parts.shift()
      if (part !== undefined) {
        this.#wakeWriter?.()
        return { part }
      }
      if (this.#result !== undefined) return { result: this.#result }
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve
      })
    }
  }
}

/** The run's parts for its reader. An abort ends it at once; breaking out stops the run. */
export async function* readParts(channel: PartChannel, signal: AbortSignal): PartStream {
  const off = onAbort(signal, () => channel.fail(signal.reason))
  try {
    for (;;) {
      const taken = await channel.take()
      if ('result' in taken) return taken.result
      yield taken.part
    }
  } finally {
    off()
    channel.close()
  }
}
