import type { Clock } from '../base/clock.ts'
import type { WriteQueue } from './write-queue.ts'

const KEEP = `INSERT INTO prefill_speeds (key, tokens_per_second, updated_at) VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET tokens_per_second = excluded.tokens_per_second, updated_at = excluded.updated_at`
/** A file that somebody else wrote into must not decide for ever. */
const SENSIBLE = 'tokens_per_second BETWEEN 0.01 AND 1000000'
const SELECT = `SELECT key, tokens_per_second FROM prefill_speeds WHERE ${SENSIBLE}`
const FORGET = `DELETE FROM prefill_speeds WHERE updated_at < ? OR updated_at > ? OR NOT ${SENSIBLE}`

/** Only the most is kept, so that it is measured anew now and then: a machine may have become slower for good. */
const DAY = 86_400_000
const KEPT_FOR = 7 * DAY

/** How fast prompts were, as engines tell (`PrefillSpeeds`). All of it lives in memory; the file is for the next start. */
export class PrefillSpeedTable {
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #known = new Map<string, number>()

  constructor(queue: WriteQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
    const now = Math.round(clock.wallTime())
    // Nor must a clock that was wrong.
    queue.add({ sql: FORGET, values: [now - KEPT_FOR, now + DAY] })
    for (const row of queue.read(SELECT))
      this.#known.set(String(row['key']), Number(row['tokens_per_second']))
  }

  speed(key: string): number | undefined {
    return this.#known.get(key)
  }

  noteSpeed(key: string, tokensPerSecond: number): void {
    this.#known.set(key, tokensPerSecond)
    this.#queue.add({ sql: KEEP, values: [key, tokensPerSecond, Math.round(this.#clock.wallTime())] })
  }
}
