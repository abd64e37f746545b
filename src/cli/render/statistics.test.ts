import { describe, expect, it } from 'vitest'
import { cutNote, renderStatistics } from './statistics.ts'

const SUMMARY = {
  model: 'm',
  finishReason: 'length' as const,
  usage: { promptTokens: 10, cachedTokens: 4, completionTokens: 20, reasoningTokens: 0 },
}

describe('statistics', () => {
  it('tell reused tokens, times, speed and waits', () => {
    const shown = renderStatistics(
      { ...SUMMARY, instance: 'm#1', timings: { prefill: 50, decode: 2000 }, queueMs: 1500, loadMs: 1200 },
      1600,
      3600,
    )
    expect(shown.split('\n')).toEqual([
      'model m on m#1, ended by length',
      'prompt 10 tokens, 4 of them reused in 50 ms',
      'answer 20 tokens in 2 s, 10 tokens/s',
      'waited 1.5 s, of it 1.2 s for the model to load',
      'first text after 1.6 s, all after 3.6 s',
    ])
  })

  it('a cut is told with its tokens, unless it was asked for', () => {
    expect(cutNote(SUMMARY, undefined)).toMatch(/^The answer was cut after 20 tokens/)
    const unknown = { ...SUMMARY, usage: { ...SUMMARY.usage, unknown: true as const } }
    expect(cutNote(unknown, undefined)).toMatch(/^The answer was cut at the limit/)
    expect(cutNote(SUMMARY, 20)).toBeUndefined()
    expect(cutNote({ ...SUMMARY, finishReason: 'stop' }, undefined)).toBeUndefined()
  })

  it('say so where nobody counted', () => {
    const usage = { ...SUMMARY.usage, cachedTokens: 0, unknown: true as const }
    expect(renderStatistics({ ...SUMMARY, usage }, undefined, 10)).toContain('prompt uncounted tokens')
  })

  it('leave out what is not known', () => {
    const usage = { ...SUMMARY.usage, cachedTokens: 0 }
    expect(renderStatistics({ ...SUMMARY, usage }, undefined, 10)).toBe(
      'model m, ended by length\nprompt 10 tokens\nanswer 20 tokens\nfirst text after –, all after 10 ms',
    )
  })
})
