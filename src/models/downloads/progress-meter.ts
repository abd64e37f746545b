import type { Clock } from '../../base/clock.ts'

/** How far a file is. */
export interface DownloadProgress {
  stage: 'waiting' | 'downloading' | 'verifying' | 'extracting'
  /** Name of the file. */
  file: string
  /** Promised sum of the file, hex; absent when nobody promised one. */
  sha256?: string
  received: number
  /** Null while unknown. */
  total: number | null
  bytesPerSecond: number
  /** Milliseconds until it is complete at this speed; null while unknown. */
  timeLeft: number | null
  /** Pid of the other process that fetches the file, while we wait for it. */
  heldBy?: number
}

/** Milliseconds between two reports. */
const REPORT_EVERY = 250
/** Speed is that of the last seconds, so that a stall shows. */
const WINDOW = 5000

/** Turns counts of bytes into reports with speed and time left, a few per second. */
export class ProgressMeter {
  readonly #clock: Clock
  readonly #report: (progress: DownloadProgress) => void
  readonly #file: Pick<DownloadProgress, 'file' | 'sha256'>
  #samples: { at: number; received: number }[] = []
  #stage: DownloadProgress['stage'] | undefined
  #received = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(file: string, clock: Clock, report: (progress: DownloadProgress) => void, sha256?: string) {
    this.#file = sha256 === undefined ? { file } : { file, sha256 }
    this.#clock = clock
    this.#report = report
  }

  /** Takes a new count. Reported at once when the stage changed or the work is done. */
  update(stage: DownloadProgress['stage'], received: number, total: number | null, heldBy?: number): void {
    const now = this.#clock.now()
    const due = stage !== this.#stage || received === total || now - this.#reportedAt >= REPORT_EVERY
    // Another stage counts from its own beginning; so does a download that was begun anew.
    if (stage !== this.#stage || received < this.#received) this.#samples = []
    this.#stage = stage
    this.#received = received
    if (!due) return
    this.#reportedAt = now
    const bytesPerSecond = this.#speed(now, received)
    const timeLeft =
      total === null || bytesPerSecond === 0 ? null : ((total - received) / bytesPerSecond) * 1000
    this.#report({
      stage,
      ...this.#file,
      received,
      total,
      bytesPerSecond,
      timeLeft,
      ...(heldBy === undefined ? {} : { heldBy }),
    })
  }

  #speed(now: number, received: number): number {
    this.#samples.push({ at: now, received })
    while (now - (this.#samples[1]?.at ?? now) >= WINDOW) this.#samples.shift()
    const oldest = this.#samples[0]
    if (oldest === undefined || now <= oldest.at) return 0
    return Math.round(((received - oldest.received) / (now - oldest.at)) * 1000)
  }
}
