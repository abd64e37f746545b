import type { PoolStatus } from '../../pool/pool-status.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { CommandContext } from '../command-context.ts'
import type { Output } from '../output.ts'
import type { YardClient } from '../yard-client.ts'

/** What a model's next answer waits for, in a few words; undefined when nothing is known to hold it up. */
export function describeWait(
  status: Pick<PoolStatus, 'instances' | 'queue'>,
  model: string,
): string | undefined {
  const loading = status.instances.find(
    (instance) => instance.model === model && (instance.state === 'loading' || instance.state === 'warming'),
  )
  if (loading?.state === 'warming') return `preparing ${model}`
  if (loading !== undefined) {
    const percent = loading.progress === undefined ? '' : ` ${Math.floor(loading.progress * 100)} %`
    return `loading ${model}${percent}`
  }
  const ticket = status.queue.find((waiting) => waiting.model === model)
  return ticket === undefined ? undefined : `waiting (place ${ticket.position}): ${ticket.reason}`
}

/** Milliseconds until a wait is worth a word, and between two looks. */
const INTERVAL = 400

export interface WaitingNoteOptions {
  /** Away from a terminal, one line every so many milliseconds; absent = nothing there. */
  logEvery?: number
}

/** A line that says what is waited for and goes away when the wait is over. */
export class WaitingNote {
  readonly #err: Output
  readonly #clock: Clock
  readonly #look: () => Promise<string | undefined>
  readonly #interval: number | undefined
  #timer: Timer | undefined
  #shown = false

  constructor(
    err: Output,
    clock: Clock,
    look: () => Promise<string | undefined>,
    options: WaitingNoteOptions = {},
  ) {
    this.#err = err
    this.#clock = clock
    this.#look = look
    this.#interval = err.isTerminal ? INTERVAL : options.logEvery
    this.#next()
  }

  /** Takes the line away. Twice is harmless. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    if (!this.#shown) return
    this.#shown = false
    await this.#err.write('\r\u001B[K')
  }

  #next(): void {
    if (this.#interval === undefined) return
    this.#timer = this.#clock.setTimer(this.#interval, () => void this.#show())
  }

  async #show(): Promise<void> {
    const words = await this.#look().catch(() => undefined)
    if (this.#timer === undefined) return
    if (words !== undefined) await this.#write(words)
    if (this.#timer !== undefined) this.#next()
  }

  async #write(words: string): Promise<void> {
    if (!this.#err.isTerminal) return await this.#err.line(words)
    this.#shown = true
    await this.#err.write(`\r\u001B[K${this.#err.colors.dim(words.slice(0, this.#err.columns - 2))}`)
  }
}

/** Says what `model` waits for until it is stopped. */
export function noteWaiting({ err, clock }: CommandContext, yard: YardClient, model: string): WaitingNote {
  return new WaitingNote(err, clock, async () => describeWait(await yard.state(), model))
}
