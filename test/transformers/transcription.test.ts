import { mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Yard } from '../../src/yard.ts'
import { ENGINES_DIRECTORY, fetched, removeFolder, temporaryFolder } from '../models/paths.ts'
import { HAS_TRANSFORMERS, pulled } from './fixtures.ts'

const whisper = HAS_TRANSFORMERS ? await pulled('whisper-tiny') : undefined
const joe = fetched(join(ENGINES_DIRECTORY, 'speech')) ? await pulled('piper-joe') : undefined

const FOX = /the quick brown fox jumps over the lazy dog/i
const SPEECH = join(import.meta.dirname, '../models/speech')

function sound(name: string): Promise<Buffer> {
  return readFile(join(SPEECH, name))
}

/** Letters and spaces alone: models differ in marks. */
function words(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z ]/g, '')
    .replace(/ +/g, ' ')
    .trim()
}

describe.runIf(whisper !== undefined && joe !== undefined)('a yard that hears and speaks', () => {
  let folder = ''
  let url = ''
  let yard: Yard
  let client: OpenAI
  beforeAll(async () => {
    folder = await temporaryFolder()
    await mkdir(folder, { recursive: true })
    await symlink(ENGINES_DIRECTORY, join(folder, 'engines'))
    const models = { whisper: { source: whisper ?? '' }, joe: { source: joe ?? '' } }
    yard = await createYard({ home: folder, models })
    url = (await yard.listen({ host: '127.0.0.1', port: 0 })).url
    client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', timeout: 300_000 })
  })
  afterAll(async () => {
    await yard.stop({ deadline: 0 })
    await removeFolder(folder)
  })

  it.each(['fox.wav', 'fox.flac', 'fox.mp3', 'fox.ogg', 'fox.webm'])(
    'hears what is said in %s',
    async (name) => {
      const file = await toFile(await sound(name), name)
      const { text } = await client.audio.transcriptions.create({ model: 'whisper', file, language: 'en' })
      expect(text).toMatch(FOX)
    },
  )

  it('tells the times of segments, in JSON and as subtitles', async () => {
    const file = await toFile(await sound('fox.flac'), 'fox.flac')
    const asked = { model: 'whisper', file } as const
    const verbose = await client.audio.transcriptions.create({ ...asked, response_format: 'verbose_json' })
    expect(verbose).toMatchObject({ task: 'transcribe', language: 'en' })
    expect(verbose.duration).toBeCloseTo(2.72, 1)
    const [segment] = verbose.segments ?? []
    expect(segment?.start).toBe(0)
    expect(segment?.end).toBeGreaterThan(1.5)
    expect(segment?.end).toBeLessThan(2.8)
    const srt = await client.audio.transcriptions.create({ ...asked, response_format: 'srt' })
    expect(srt).toMatch(/^1\n00:00:00,000 --> 00:00:0\d,\d{3}\nThe quick brown fox/)
  })

  it('streams segments as they are heard', async () => {
    const file = await toFile(await sound('fox.flac'), 'fox.flac')
    const stream = await client.audio.transcriptions.create({ model: 'whisper', file, stream: true })
    const events: string[] = []
    let text = ''
    for await (const event of stream) {
      events.push(event.type)
      if (event.type === 'transcript.text.done') text = event.text
    }
    expect(events[0]).toBe('transcript.text.delta')
    expect(events.at(-1)).toBe('transcript.text.done')
    expect(text).toMatch(FOX)
  })

  it('hears what it says itself, longer than a window, without losing a sentence', async () => {
    const said = Array.from(
      { length: 6 },
      (_, index) =>
        [
          'The quick brown fox jumps over the lazy dog.',
          'Yesterday I bought three apples and a loaf of bread at the market.',
          'The train to the city leaves at seven in the morning.',
        ][index % 3] ?? '',
    ).join(' ')
    const bytes = await yard.speak({ model: 'joe', text: `${said} ${said}` }).bytes()
    expect(Buffer.from(bytes.subarray(0, 4)).toString()).toBe('RIFF')
    const { text, seconds, segments } = await yard.transcribe({ model: 'whisper', audio: bytes })
    expect(seconds).toBeGreaterThan(31)
    // Not the fox: "quick" is heard as "quit" now and then.
    expect(words(text).match(/lazy dog/g)?.length).toBe(4)
    expect(words(text).match(/loaf of bread/g)?.length).toBe(4)
    expect(words(text).match(/in the morning/g)?.length).toBe(4)
    const starts = segments.map(({ start }) => start)
    expect(starts).toEqual(starts.toSorted((a, b) => a - b))
    expect(segments.at(-1)?.end).toBeLessThanOrEqual(seconds)
  }, 240_000)

  it('speaks for the official client: mp3 by default, wav and pcm when asked', async () => {
    const speak = async (response_format?: 'wav' | 'pcm'): Promise<[string | null, Buffer]> => {
      const wanted = response_format === undefined ? {} : { response_format }
      const answer = await client.audio.speech.create({
        model: 'joe',
        voice: 'alloy',
        // Of two words one in thirty is heard wrong, since the voice says them anew each time.
        input: 'The quick brown fox jumps over the lazy dog.',
        ...wanted,
      })
      return [answer.headers.get('content-type'), Buffer.from(await answer.arrayBuffer())]
    }
    const [mp3Type, mp3] = await speak()
    expect(mp3Type).toBe('audio/mpeg')
    expect(mp3[0]).toBe(0xff)
    const [wavType, wav] = await speak('wav')
    expect(wavType).toBe('audio/wav')
    expect(wav.readUInt32LE(24)).toBe(22_050)
    const [pcmType, pcm] = await speak('pcm')
    expect(pcmType).toBe('audio/pcm')
    // 24,000 samples per second against 22,050; the voice takes its time anew each time.
    const ratio = pcm.length / (wav.length - 44) / (24_000 / 22_050)
    expect(ratio).toBeGreaterThan(0.7)
    expect(ratio).toBeLessThan(1.4)
    const heard = await yard.transcribe({ model: 'whisper', audio: mp3 })
    expect(words(heard.text)).toContain('lazy dog')
  })

  it('is as fast as asked', async () => {
    const length = async (speed: number): Promise<number> =>
      (await yard.speak({ model: 'joe', text: 'One two three four five.', speed }).bytes()).length
    // A quarter, but that the voice takes its time anew each time.
    expect(await length(4)).toBeLessThan((await length(1)) * 0.75)
  })

  it.each([
    ['no sound', () => Promise.resolve(Buffer.from('hello world')), 'file'],
    ['a cut one', async () => (await sound('fox.flac')).subarray(0, 60), 'file'],
    ['an empty file', () => Promise.resolve(Buffer.alloc(0)), 'file'],
    ['one of 1 sample a second', async () => withRate(await sound('fox.wav'), 1), 'file'],
    ['one of 16 million samples a second', async () => withRate(await sound('fox.wav'), 16_000_000), 'file'],
    ['one of samples that are no numbers', () => Promise.resolve(notNumbers()), 'file'],
  ])('%s is a 400 that names the field', async (_, bytes, param) => {
    const file = await toFile(await bytes(), 'x.flac')
    await expect(client.audio.transcriptions.create({ model: 'whisper', file })).rejects.toMatchObject({
      status: 400,
      param,
    })
  })

  it('refuses what an English model cannot do, and what no model here can', async () => {
    const file = await toFile(await sound('fox.flac'), 'fox.flac')
    const german = client.audio.transcriptions.create({ model: 'whisper', file, language: 'de' })
    await expect(german).rejects.toMatchObject({ status: 400, param: 'language' })
    await expect(client.audio.translations.create({ model: 'whisper', file })).rejects.toMatchObject({
      status: 400,
    })
    const timed = client.audio.transcriptions.create({
      model: 'whisper',
      file,
      response_format: 'verbose_json',
      timestamp_granularities: ['word'],
    })
    await expect(timed).rejects.toMatchObject({ status: 501 })
    const opus = client.audio.speech.create({
      model: 'joe',
      voice: 'x',
      input: 'hi',
      response_format: 'opus',
    })
    await expect(opus).rejects.toMatchObject({ status: 501 })
    await expect(client.audio.transcriptions.create({ model: 'joe', file })).rejects.toMatchObject({
      status: 400,
      param: 'model',
    })
  })

  it('wants a form, and a whole one', async () => {
    const post = async (body: string, type: string): Promise<number> => {
      const answer = await fetch(`${url}/v1/audio/transcriptions`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      })
      await answer.arrayBuffer()
      return answer.status
    }
    expect(await post('{}', 'application/json')).toBe(415)
    expect(await post('no form', 'multipart/form-data; boundary=x')).toBe(400)
    const field = '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhisper\r\n--x--\r\n'
    expect(await post(field, 'multipart/form-data; boundary=x')).toBe(400)
  })
})

function withRate(wav: Uint8Array, rate: number): Buffer {
  const told = Buffer.from(wav)
  told.writeUInt32LE(rate, 24)
  return told
}

/** A WAV of floats, of which none is a number. */
function notNumbers(): Buffer {
  const head = Buffer.from(
    'RIFF\0\0\0\0WAVEfmt \u0010\0\0\0\u0003\0\u0001\0\0\0\0\0\0\0\0\0\u0004\0\u0020\0data\0\0\0\0',
    'latin1',
  )
  head.writeUInt32LE(16_000, 24)
  head.writeUInt32LE(64_000, 28)
  return Buffer.concat([head, Buffer.from(new Float32Array(1600).fill(Number.NaN).buffer)])
}
