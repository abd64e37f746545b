import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOX = readFileSync(join(import.meta.dirname, 'speech/fox.wav'))

/** The quick brown fox and the lazy dog, so many times: 2.7 seconds each, as one WAV file. */
export function foxes(times: number): Buffer {
  const name = FOX.indexOf('data')
  const head = FOX.subarray(0, name + 8)
  const samples = FOX.subarray(head.length, head.length + FOX.readUInt32LE(name + 4))
  const sound = Buffer.concat([head, ...Array.from({ length: times }, () => samples)])
  sound.writeUInt32LE(sound.length - 8, 4)
  sound.writeUInt32LE(samples.length * times, name + 4)
  return sound
}
