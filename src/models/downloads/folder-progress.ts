import type { Clock } from '../../base/clock.ts'
import { type DownloadProgress, ProgressMeter } from './progress-meter.ts'

/** How far a model of several files is, all of them together: each file's own meter counts on from the files before it. */
export class FolderProgress {
  readonly #clock: Clock
  readonly #name: string
  readonly #total: number
  readonly #meter: ProgressMeter
  #before = 0

  /** @param total bytes of all files */
  constructor(name: string, total: number, clock: Clock, report: (progress: DownloadProgress) => void) {
    this.#name = name
    this.#total = total
    this.#clock = clock
    this.#meter = new ProgressMeter(name, clock, report)
  }

  /** The meter of the next file, of so many bytes; the one before it is there. */
  async count(bytes: number, work: (meter: ProgressMeter) => Promise<void>): Promise<void> {
    const before = this.#before
    await work(
      new ProgressMeter(this.#name, this.#clock, ({ stage, received, heldBy }) =>
        this.#meter.update(stage, before + received, this.#total, heldBy),
      ),
    )
    this.#before = before + bytes
  }
}
