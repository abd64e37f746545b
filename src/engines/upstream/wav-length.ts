import { soundFormatOf } from '../../tasks/sound-format.ts'

/** Lengths from here on stand for "until the end": whoever streams a WAV does not know its length ahead. */
const UNKNOWN_LENGTH = 0x7f_ff_00_00
/** Where the first chunk of a WAV file begins, behind `RIFF`, the length and `WAVE`. */
const FIRST_CHUNK = 12
/** Bytes of a chunk's name and length. */
const CHUNK_HEAD = 8

/** Bytes that the whole file has by its own head; undefined when that does not say it, or it is no WAV. */
export function wavLength(head: Buffer): number | undefined {
  if (head.length < FIRST_CHUNK || soundFormatOf(head) !== 'wav') return undefined
  const length = head.readUInt32LE(4)
  return length === 0 || length >= UNKNOWN_LENGTH ? undefined : length + CHUNK_HEAD
}

/** Seconds of a WAV file; undefined for any other sound, and for one whose head is damaged. */
export function wavSeconds(sound: Uint8Array): number | undefined {
  if (soundFormatOf(sound) !== 'wav') return undefined
  const file = Buffer.from(sound.buffer, sound.byteOffset, sound.length)
  let bytesPerSecond = 0
  for (let at = FIRST_CHUNK; at + CHUNK_HEAD <= file.length;) {
    const name = file.toString('latin1', at, at + 4)
    const length = file.readUInt32LE(at + 4)
    const content = at + CHUNK_HEAD
    if (name === 'fmt ' && content + 12 <= file.length) bytesPerSecond = file.readUInt32LE(content + 8)
    if (name === 'data' && bytesPerSecond > 0) return Math.min(length, file.length - content) / bytesPerSecond
    // Chunks begin at even places.
    at = content + length + (length % 2)
  }
  return undefined
}
