import type { Clock, Timer } from '../base/clock.ts'
import { configurationDifference, type ConfigurationChange } from './configuration-change.ts'
import type { YardConfiguration } from './yard-configuration.ts'

export interface ReloaderOptions {
  clock: Clock
  file: string
  /** What is in force now. */
  current: YardConfiguration
  load: () => Promise<YardConfiguration>
  onChange: (change: ConfigurationChange) => void
  /** Milliseconds of quiet before a change is read. Default 300. */
  quiet?: number
}

/**
 * Turns "the file was touched" into at most one change per burst of saves (BR-44): reads after a time of quiet, never twice at a
 * time, keeps what is in force when the new one is wrong, and says nothing of edits that mean the same.
 */
export class ConfigurationReloader {
  readonly #options: ReloaderOptions
  readonly #quiet: number
  #current: YardConfiguration
  #rejected: string | undefined
  #timer: Timer | undefined
  #reading: Promise<void> | undefined
  #closed = false

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.#quiet = options.quiet ?? 300
    this.#current = options.current
  }

  /** The file was touched. */
  touched(): void {
    if (this.#closed) return
    this.#timer?.cancel()
    this.#timer = this.#options.clock.setTimer(this.#quiet, () => this.#due())
  }

  /** Nothing is reported any more; resolves when no read is under way. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#reading
  }

  #due(): void {
    // A read that is under way may have seen the old text: come again when it is done.
    if (this.#reading !== undefined) {
      this.touched()
      return
    }
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined
    })
  }

  async #read(): Promise<void> {
    try {
      const next = await this.#options.load()
      if (!this.#closed) this.#accept(next)
    } catch (error) {
      if (!this.#closed) this.#reject((error as Error).message)
    }
  }

  #accept(next: YardConfiguration): void {
    this.#rejected = undefined
    const difference = configurationDifference(this.#current, next)
    if (difference === undefined) return
    this.#current = next
    this.#options.onChange({ type: 'reloaded', configuration: next, difference })
  }

  /** The same complaint is made once, however often the file is saved. */
  #reject(message: string): void {
    if (message === this.#rejected) return
    this.#rejected = message
    this.#options.onChange({ type: 'rejected', file: this.#options.file, message })
  }
}
