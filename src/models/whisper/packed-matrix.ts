import { sleep, type Clock } from '../../base/clock.ts'

/** What eight bits without a sign mean as zero. */
export const ZERO = 128

/** Numbers that are worked on before others have their turn: some milliseconds. */
const PIECE = 1_000_000

/** A matrix in eight bits around 128, with one scale for each row. */
export interface PackedMatrix {
  bytes: Uint8Array
  scales: Float32Array
}

/** For work on many numbers: lets others have their turn now and then, and ends it when it is given up. */
export class Pace {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  /** Numbers that were worked on since others had their turn. */
  #since = 0

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#signal = signal
  }

  /** Calls `work` for one piece of the rows after the other. @throws the signal's reason */
  async inPieces(rows: number, depth: number, work: (from: number, to: number) => void): Promise<void> {
    const step = Math.max(1, Math.floor(PIECE / Math.max(1, depth)))
    for (let from = 0; from < rows; from += step) {
      this.#signal.throwIfAborted()
      const to = Math.min(rows, from + step)
      work(from, to)
      this.#since += (to - from) * depth
      if (this.#since < PIECE) continue
      this.#since = 0
      await sleep(this.#clock, 0, this.#signal)
    }
  }
}

/** @param turned each row becomes a column, as a product wants it */
export async function packMatrix(
  values: Float32Array,
  depth: number,
  turned: boolean,
  pace: Pace,
): Promise<PackedMatrix> {
  const rows = values.length / depth
  const bytes = new Uint8Array(values.length)
  const scales = new Float32Array(rows)
  const [along, across] = turned ? [rows, 1] : [1, depth]
  await pace.inPieces(rows, depth, (first, last) => {
    // Plain loops: there are 40 million numbers even in the smallest model.
    for (let row = first; row < last; row++) {
      const from = row * depth
      let most = 0
      for (let at = 0; at < depth; at++) most = Math.max(most, Math.abs(values[from + at] ?? 0))
      const scale = most === 0 ? 1 : most / (ZERO - 1)
      scales[row] = scale
      for (let at = 0; at < depth; at++)
        bytes[row * across + at * along] = Math.round((values[from + at] ?? 0) / scale) + ZERO
    }
  })
  return { bytes, scales }
}
