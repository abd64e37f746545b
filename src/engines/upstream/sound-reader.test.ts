import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { AudioFormat } from '../../tasks/speech-task.ts'
import { ReplyBody } from './reply-body.ts'
import { SoundReader } from './sound-reader.ts'

/** A WAV file of so many bytes that says of itself that it has `told`; 0xffffffff = it does not know. */
function wav(bytes: number, told = bytes): Buffer {
  const file = Buffer.alloc(bytes)
  file.write('RIFF')
  file.writeUInt32LE(told === 0xff_ff_ff_ff ? told : told - 8, 4)
  file.write('WAVE', 8)
  return file
}

interface Heard {
  sound: Buffer
  parts: Part[]
  result: Result
}

/** Reads an answer that comes in these pieces. */
async function hear(pieces: readonly Buffer[], format: AudioFormat, contentType = ''): Promise<Heard> {
  const controller = { pause: () => undefined, resume: () => undefined, abort: () => undefined }
  const body = new ReplyBody(controller as never, () => undefined)
  const parts: Part[] = []
  const incoming = { model: 'far', body, parts, clock: new ManualClock(), onMoved: () => undefined }
  const reader = new SoundReader(incoming, format, contentType)
  // One after the other: what waits is taken at once.
  const [first, ...rest] = pieces
  if (first !== undefined) body.add(first)
  if (rest.length === 0) body.end()
  while (await reader.read()) {
    const next = rest.shift()
    if (next === undefined) body.end()
    else body.add(next)
  }
  const sound = Buffer.concat(parts.flatMap((part) => (part.type === 'audio' ? [part.data] : [])))
  return { sound, parts, result: reader.result() }
}

describe('a sound as it comes', () => {
  it('is the same bytes, however it is cut, behind one beginning', async () => {
    const file = wav(100)
    for (const size of [1, 5, 12, 99, 100]) {
      const pieces = Array.from({ length: Math.ceil(100 / size) }, (_, index) =>
        file.subarray(index * size, (index + 1) * size),
      )
      const { sound, parts, result } = await hear(pieces, 'wav', 'audio/wav')
      expect(sound.equals(file)).toBe(true)
      expect(parts[0]).toEqual({ type: 'started', promptTokens: 0, cachedTokens: 0 })
      expect(parts.filter(({ type }) => type === 'started')).toHaveLength(1)
      expect(result).toMatchObject({ finishReason: 'stop', usage: { unknown: true } })
    }
  })

  it('R12: is not whole when it is empty, shorter than it says, or ends within a sample', async () => {
    await expect(hear([], 'wav')).rejects.toThrow('before it was complete')
    await expect(hear([], 'pcm')).rejects.toThrow('before it was complete')
    await expect(hear([wav(98, 100)], 'wav')).rejects.toThrow('before it was complete')
    await expect(hear([Buffer.alloc(101)], 'pcm')).rejects.toThrow('before it was complete')
  })

  it('is whole without the byte that fills it up, with more than it says, and when it does not say it', async () => {
    for (const file of [wav(99, 100), wav(200, 100), wav(50, 0xff_ff_ff_ff), wav(50, 8)])
      expect((await hear([file], 'wav')).sound.length).toBe(file.length)
    expect((await hear([Buffer.alloc(2)], 'pcm')).sound.length).toBe(2)
  })

  it('is refused when it is another one than was asked for; samples may look like a frame of MP3', async () => {
    const mp3 = Buffer.from([0xff, 0xfb, 0x90, 0x64, ...Buffer.alloc(20)])
    await expect(hear([mp3], 'wav')).rejects.toThrow('mp3 where wav was asked for')
    await expect(hear([wav(100)], 'pcm')).rejects.toThrow('wav where pcm was asked for')
    await expect(hear([Buffer.alloc(24)], 'mp3')).rejects.toThrow('no known sound where mp3 was asked for')
    expect((await hear([mp3], 'mp3')).sound.equals(mp3)).toBe(true)
    expect((await hear([mp3], 'pcm')).sound.equals(mp3)).toBe(true)
  })

  it('is none when it is a text: an error in it is told, other words are not', async () => {
    const error = Buffer.from('{"error":"no such voice"}')
    await expect(hear([error], 'wav', 'application/json; charset=utf-8')).rejects.toThrow('no such voice')
    const text = hear([Buffer.from('my secret')], 'pcm', 'text/html')
    await expect(text).rejects.toThrow('text/html instead of a sound')
    await expect(text).rejects.not.toThrow('secret')
  })
})
