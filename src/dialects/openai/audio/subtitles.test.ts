import { describe, expect, it } from 'vitest'
import { subtitles } from './subtitles.ts'

const SEGMENTS = [
  { start: 0, end: 1.5, text: ' Hello there.' },
  { start: 3599.999, end: 3661.25, text: ' An hour --> later.' },
]

describe('subtitles', () => {
  it('as SubRip: numbered, with a comma before the milliseconds', () => {
    expect(subtitles(SEGMENTS, 'srt')).toBe(
      '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n' +
        '2\n00:59:59,999 --> 01:01:01,250\nAn hour -> later.\n\n',
    )
  })

  it('as WebVTT: with its head, and a dot', () => {
    expect(subtitles(SEGMENTS.slice(0, 1), 'vtt')).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n',
    )
  })

  it('of nothing is an empty file of its kind', () => {
    expect(subtitles([], 'srt')).toBe('')
    expect(subtitles([], 'vtt')).toBe('WEBVTT\n\n')
  })
})
