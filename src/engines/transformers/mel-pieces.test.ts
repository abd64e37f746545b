import { describe, expect, it } from 'vitest'
import { MelWindow, melPieces } from './mel-pieces.ts'

const HOP = 160
const BANDS = 2

/** As the library has it: frames of 400 samples around every 160th, the sound mirrored at its ends, everything cut below its loudest value. */
function features(samples: Float32Array): Float32Array {
  const frames = Math.floor(samples.length / HOP)
  const at = (index: number): number =>
    samples[index < 0 ? -index : index < samples.length ? index : 2 * samples.length - 2 - index] ?? 0
  const values = new Float32Array(BANDS * frames)
  for (let frame = 0; frame < frames; frame++) {
    for (let band = 0; band < BANDS; band++) {
      let energy = 0
      for (let offset = -200 + band; offset < 200; offset += 2) energy += at(frame * HOP + offset) ** 2
      values[band * frames + frame] = Math.log10(Math.max(1e-10, energy))
    }
  }
  const loudest = values.reduce((most, value) => Math.max(most, value), -Infinity)
  return values.map((value) => (Math.max(value, loudest - 8) + 4) / 4)
}

function inPieces(sound: Float32Array, frames: number): Float32Array {
  const window = new MelWindow(BANDS, frames)
  for (const piece of melPieces(sound, frames)) window.put(piece, features(piece.samples))
  return window.finish()
}

function atOnce(sound: Float32Array, frames: number): Float32Array {
  const padded = new Float32Array(frames * HOP)
  padded.set(sound.subarray(0, padded.length))
  return features(padded)
}

/** Of the two values that differ most: the last digit of numbers that were rounded in another order. */
function difference(one: Float32Array, other: Float32Array): number {
  expect(one.length).toBe(other.length)
  return one.reduce((most, value, at) => Math.max(most, Math.abs(value - (other[at] ?? Number.NaN))), 0)
}

/** A tone that swells from next to nothing. */
function swelling(length: number, loudness = 1): Float32Array {
  return Float32Array.from({ length }, (_, at) => loudness * (at / length) ** 6 * Math.sin(at / 7))
}

describe('features of a window in pieces', () => {
  it.each([
    ['as long as the window', 500 * HOP],
    ['that ends within a frame', 333 * HOP + 77],
    ['shorter than a piece', 900],
    ['that ends where a piece does', 300 * HOP],
    ['of one sample', 1],
    ['longer than the window', 600 * HOP],
  ])('of a sound %s are those of the whole window', (_, length) => {
    const sound = swelling(length)
    expect(difference(inPieces(sound, 500), atOnce(sound, 500))).toBeLessThan(1e-6)
  })

  it('cuts quiet pieces below the loudest value of the whole window, not below their own', () => {
    const sound = swelling(400 * HOP, 30_000)
    expect(difference(inPieces(sound, 500), atOnce(sound, 500))).toBeLessThan(1e-6)
  })

  it('computes nothing of silence after the sound', () => {
    const frames = melPieces(new Float32Array(16_000), 3000).reduce((sum, piece) => sum + piece.frames, 0)
    expect(frames).toBe(102)
    expect(melPieces(new Float32Array(), 3000).length).toBeLessThanOrEqual(1)
  })

  it('keeps each piece short enough for others to be heard', () => {
    for (const { frames } of melPieces(new Float32Array(480_000), 3000))
      expect(frames).toBeLessThanOrEqual(150)
  })
})
