import { describe, expect, it } from 'vitest'
import { png, RED } from '../../../test/models/tiny-image.ts'
import type { Part } from '../../tasks/part.ts'
import { pictureParts } from './picture-parts.ts'
import { rankedParts } from './ranked-parts.ts'
import { transcriptParts } from './transcript-parts.ts'
import { wavLength, wavSeconds } from './wav-length.ts'

/** Half a second of a sound with 8,000 bytes a second, behind a chunk of odd length. */
function wav(riff: number, seconds = 0.5): Buffer {
  const format = Buffer.alloc(24)
  format.write('fmt ')
  format.writeUInt32LE(16, 4)
  format.writeUInt32LE(8000, 16)
  const note = Buffer.from([...Buffer.from('LIST'), 1, 0, 0, 0, 65, 0])
  const data = Buffer.alloc(8 + seconds * 8000)
  data.write('data')
  data.writeUInt32LE(0xff_ff_ff_ff, 4)
  const head = Buffer.alloc(12)
  head.write('RIFF')
  head.writeUInt32LE(riff, 4)
  head.write('WAVE', 8)
  return Buffer.concat([head, format, note, data])
}

describe('ranks', () => {
  const ranks = (document: object, count = 2, isRaw = false): number[] =>
    rankedParts({ model: 'm', count, isRaw })(document as Record<string, unknown>).flatMap((part) =>
      part.type === 'score' ? [part.score] : [],
    )

  it('are those of each document in its place, whatever they are called', () => {
    const entries = [
      { index: 1, score: 0 },
      { index: 0, score: 1 },
    ]
    expect(ranks({ data: entries })).toEqual([1, 0])
    expect(
      ranks({ results: entries.map(({ index, score }) => ({ index, relevance_score: score })) }),
    ).toEqual([1, 0])
  })

  it('are scaled where one is no share, so that their order stays', () => {
    const [first = 0, second = 0] = ranks({
      results: [
        { index: 0, relevance_score: -8 },
        { index: 1, relevance_score: 0 },
      ],
    })
    expect(first).toBeCloseTo(0.000_335, 6)
    expect(second).toBe(0.5)
  })

  it.each([
    [{}, 'no list of results'],
    [{ results: [] }, 'scores of 0 documents for 2'],
    [{ results: [{ index: 0, relevance_score: 1 }] }, 'scores of 1 documents for 2'],
    [{ results: [0, 2, -1, 0.5].map((index) => ({ index, relevance_score: 1 })) }, 'scores of 1 documents'],
    [{ results: [{ index: 0, relevance_score: null }, null] }, 'scores of 0 documents'],
  ])('are none in %j', (document, words) => {
    expect(() => ranks(document)).toThrow(words)
  })
})

describe('a transcript', () => {
  const heard = (document: object, audio: Uint8Array = wav(0)): Part[] =>
    transcriptParts('m', { kind: 'transcription', audio })(document as Record<string, unknown>)

  it('of silence is a sound without segments', () => {
    expect(heard({ text: '', segments: [], duration: 0 })).toEqual([{ type: 'sound', seconds: 0 }])
  })

  it('that is a text alone is one segment, as long as the sound', () => {
    expect(heard({ text: 'Yes.' })).toEqual([
      { type: 'sound', seconds: 0.5 },
      { type: 'segment', start: 0, end: 0.5, text: 'Yes.' },
    ])
    expect(heard({ text: 'Yes.', usage: { type: 'duration', seconds: 3 } })[0]).toMatchObject({ seconds: 3 })
  })

  it('gets the spaces back that were cut off between segments, and none where the text has none', () => {
    const segments = [
      { start: 0, end: 1, text: 'One.' },
      { start: 1, end: 2, text: 'Two.' },
    ]
    const texts = (text: string): string[] =>
      heard({ text, segments }).flatMap((part) => (part.type === 'segment' ? [part.text] : []))
    expect(texts('One. Two.')).toEqual(['One.', ' Two.'])
    expect(texts('One.Two.')).toEqual(['One.', 'Two.'])
  })

  it('without a text is none', () => {
    expect(() => heard({ segments: [] })).toThrow('a transcript without a text')
  })
})

describe('pictures', () => {
  const task = { kind: 'image' as const, prompt: 'x', count: 1 }
  const picture = Buffer.from(png(64, 32, RED)).toString('base64')
  const drawn = (data: unknown[], count = 1): Part[] => pictureParts('m', { ...task, count })({ data })

  it('are as large as they say, also in the form of an address that holds them', () => {
    for (const entry of [{ b64_json: picture }, { url: `data:image/png;base64,${picture}` }])
      expect(drawn([entry])).toMatchObject([{ width: 64, height: 32, mediaType: 'image/png' }])
  })

  it.each([
    [[], 1, '0 pictures for 1'],
    [[{ b64_json: picture }], 2, '1 pictures for 2'],
    [[{ url: 'http://169.254.169.254/x.png' }], 1, 'addresses are not followed'],
    [[{}], 1, 'an entry without a picture'],
    [[{ b64_json: 'AAAA' }], 1, 'no known format'],
  ])('are none in %j', (data, count, words) => {
    expect(() => drawn(data, count)).toThrow(words)
  })
})

describe('a WAV file', () => {
  it('says how long it is, or that nobody knows', () => {
    expect(wavLength(wav(1000).subarray(0, 12))).toBe(1008)
    for (const unknown of [0, 0x7f_ff_ff_ff, 0xff_ff_ff_ff]) expect(wavLength(wav(unknown))).toBeUndefined()
    expect(wavLength(wav(1000).subarray(0, 11))).toBeUndefined()
    expect(wavLength(Buffer.from('ID3 is none of these'))).toBeUndefined()
  })

  it('lasts as long as its samples, however long it says they are', () => {
    expect(wavSeconds(wav(0))).toBe(0.5)
    expect(wavSeconds(wav(0, 0))).toBe(0)
    expect(wavSeconds(wav(0).subarray(0, 30))).toBeUndefined()
    expect(wavSeconds(Buffer.from('fLaC'))).toBeUndefined()
  })
})
