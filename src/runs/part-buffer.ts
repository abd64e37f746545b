import { ModelyardError, toModelyardError } from '../base/errors.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import { PartQueue } from './part-queue.ts'

/** What happens when a reader lags behind by more than the buffer holds (P16). */
export type SlowReaderRule = 'pause' | 'cancel'

/** How a stream of parts ended. */
export type SourceOutcome = { result: Result } | { error: ModelyardError }

export interface PartBufferOptions {
  /** Size in characters and vector elements that may wait to be read. */
  capacity: number
  whenFull: SlowReaderRule
  /** Called once, in the step in which the source ended: the slot is free from here on, whatever the reader does. */
  onSourceEnded: (outcome: SourceOutcome) => void
  /** Called with each part in the step in which it came, however far the reader lags behind. */
  onPart?: (part: Part) => void
  /** Asks the source to end early: the reader left, or lags too far behind. */
  cancelSource: (reason: ModelyardError) => void
}

function sizeOf(part: Part): number {
  if (part.type === 'vector') return part.vector.length * 4
  return 'text' in part ? part.text.length : 1
}

/**
 * Reads a stream of parts as fast as it comes, so that the slot behind it is free as soon as the engine is done, and hands them to a reader
 * at the reader's own pace (P16). Past its capacity it stops pulling, or cancels, by rule.
 */
export class PartBuffer {
  readonly #source: PartStream
  readonly #options: PartBufferOptions
  readonly #waiting = new PartQueue()
  #size = 0
  #outcome: SourceOutcome | undefined
  #abandoned: SourceOutcome | undefined
  /** Parts that the reader waits for. */
  #wanted = 1
  #wakeReader: (() => void) | undefined
  #wakePump: (() => void) | undefined

  constructor(source: PartStream, options: PartBufferOptions) {
    this.#source = source
    this.#options = options
    void this.#pump()
  }

  /** The next part that is here already. */
  take(): Part | undefined {
    const part = this.#waiting.take()
    if (part !== undefined) this.#taken(part)
    return part
  }

  /** Parts that wait to be taken. */
  get count(): number {
    return this.#waiting.length
  }

  /** The next of them, which stays. */
  get first(): Part | undefined {
    return this.#waiting.first
  }

  /** How it ended for the reader, once it has; parts may still wait to be taken. */
  get outcome(): SourceOutcome | undefined {
    return this.#outcome ?? this.#abandoned
  }

  /** The reader waits no longer for a source that was told to end and has not: this is how it ended for the reader. The slot stays the source's. */
  abandon(error: ModelyardError): void {
    this.#abandoned = { error }
    this.#wake()
  }

  /**
   * Resolves when there are so many parts to take, or an outcome, or when no more comes before some are taken; undefined when that is so already.
   * One reader at a time.
   */
  arrival(wanted = 1): Promise<void> | undefined {
    const isPaused = this.#wakePump !== undefined && this.#waiting.length > 0
    if (this.#waiting.length >= wanted || this.outcome !== undefined || isPaused) return undefined
    this.#wanted = wanted
    return new Promise<void>((resolve) => {
      this.#wakeReader = resolve
    })
  }

  #wake(): void {
    const wake = this.#wakeReader
    this.#wakeReader = undefined
    wake?.()
  }

  /** The reader reads no further: the source is cancelled if it has not ended. */
  leave(): void {
    if (this.#outcome !== undefined) return
    this.#waiting.clear()
    this.#size = 0
    this.#options.cancelSource(
      new ModelyardError('aborted', 'The reader left before the answer was complete.'),
    )
    this.#wakePump?.()
  }

  async #pump(): Promise<void> {
    try {
      let next = await this.#source.next()
      while (next.done !== true) {
        this.#add(next.value)
        this.#addReady()
        if (this.#size > this.#options.capacity) await this.#untilRead()
        next = await this.#source.next()
      }
      this.#end({ result: next.value })
    } catch (thrown) {
      this.#end({ error: toModelyardError(thrown, 'engine_failed') })
    }
  }

  #addReady(): void {
    const source = this.#source
    if (source.takeReady === undefined) return
    for (let part = source.takeReady(); part !== undefined; part = source.takeReady()) this.#add(part)
  }

  #add(part: Part): void {
    this.#options.onPart?.(part)
    this.#waiting.push(part)
    this.#size += sizeOf(part)
    if (this.#wakeReader !== undefined && this.#waiting.length >= this.#wanted) this.#wake()
  }

  #taken(part: Part): void {
    this.#size -= sizeOf(part)
    if (this.#size <= this.#options.capacity) this.#wakePump?.()
  }

  #end(outcome: SourceOutcome): void {
    this.#outcome = outcome
    this.#options.onSourceEnded(outcome)
    this.#wake()
  }

  /** Whoever waits for more than there is room for is not behind: he takes what is here, and waits on. */
  async #untilRead(): Promise<void> {
    if (this.#options.whenFull === 'cancel' && this.#wakeReader === undefined) {
      const message = `The reader is more than ${this.#options.capacity} characters behind; the run was ended.`
      this.#options.cancelSource(new ModelyardError('slow_reader', message))
      return
    }
    this.#wake()
    await new Promise<void>((resolve) => {
      this.#wakePump = resolve
    })
    this.#wakePump = undefined
  }
}
