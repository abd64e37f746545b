/** Samples from one frame to the next, as every Whisper has it. */
const HOP = 160

/** Samples beside a piece that its outermost frames reach into: half a window of 400, in whole frames. */
const CONTEXT = 2 * HOP

/** Frames that are computed at once: a second and a half of sound. */
const PIECE = 150

/** A part of a window of sound: its frames, and the samples they are computed from. */
export interface MelPiece {
  /** First frame, counted from the window's beginning. */
  from: number
  frames: number
  /** Samples, and which of the frames that they give are the piece's. */
  samples: Float32Array
  skipped: number
}

/**
 * Cuts a window of sound into pieces whose frames can be computed one after the other and come out as if they had been computed at once.
 * What lies beyond the sound is silence and needs no computing. Pure.
 * @param frames of the whole window
 */
export function melPieces(sound: Float32Array, frames: number): MelPiece[] {
  const heard = Math.min(frames, Math.ceil((sound.length + CONTEXT) / HOP))
  const padded = new Float32Array(frames * HOP)
  padded.set(sound.subarray(0, padded.length))
  const pieces: MelPiece[] = []
  for (let from = 0; from < heard; from += PIECE) {
    const count = Math.min(PIECE, heard - from)
    const start = Math.max(0, from * HOP - CONTEXT)
    const samples = padded.slice(start, (from + count) * HOP + CONTEXT)
    pieces.push({ from, frames: count, samples, skipped: from - start / HOP })
  }
  return pieces
}

/** Of a frame without sound, before loud frames are looked at: −10 on Whisper's scale of log-mel, which is (x + 4) / 4. */
const SILENT = -1.5

/** Whisper cuts what is this much below the loudest value of a window. */
const RANGE = 2

/** A window's features, put together of those of its pieces: `bands` rows of `frames` values. */
export class MelWindow {
  readonly values: Float32Array
  readonly #frames: number
  readonly #bands: number

  constructor(bands: number, frames: number) {
    this.#bands = bands
    this.#frames = frames
    this.values = new Float32Array(bands * frames).fill(SILENT)
  }

  /** `features`: rows of all frames that the piece's samples gave. Each was cut below its own loudest value, which is never above the window's. */
  put({ from, frames, skipped }: MelPiece, features: Float32Array): void {
    const width = features.length / this.#bands
    for (let band = 0; band < this.#bands; band++) {
      const row = features.subarray(band * width + skipped, band * width + skipped + frames)
      this.values.set(row, band * this.#frames + from)
    }
  }

  /** When all pieces are there: cut as the whole window is. */
  finish(): Float32Array {
    const least = this.values.reduce((most, value) => Math.max(most, value), SILENT) - RANGE
    return this.values.map((value) => Math.max(value, least))
  }
}
