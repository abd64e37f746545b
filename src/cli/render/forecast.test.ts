import { describe, expect, it } from 'vitest'
import type { LoadForecast } from '../../pool/forecast.ts'
import { renderForecast } from './forecast.ts'

const FITS: LoadForecast = {
  model: 'm',
  bytes: { ram: 2 ** 30, 'gpu:0': 2 ** 29 },
  contextSize: 4096,
  slots: 4,
  outcome: 'fits',
  evicts: [],
  largestContext: 8192,
}

describe('modelyard plan', () => {
  it('tells bytes per domain, contexts and the outcome', () => {
    const shown = renderForecast(FITS)
    expect(shown).toContain('1 GiB of ram, 512 MiB of gpu:0')
    expect(shown).toContain('4096 tokens in each of 4 slots')
    expect(shown).toContain('8192 tokens per slot would fit')
    expect(shown).toMatch(/outcome +it fits/)
  })

  it('names those who would go, and why them', () => {
    const evicts = [
      { instance: 'old#1', bytes: 2 ** 30, idleFor: 60_000, reason: 'idle, and the cheapest to lose' },
    ]
    expect(renderForecast({ ...FITS, outcome: 'evicts', evicts })).toContain(
      'once these have gone:\n  old#1  1 GiB, last used 1 min ago: idle, and the cheapest to lose',
    )
  })

  it('gives the reason of a refusal', () => {
    const refusal = { code: 'model_too_large' as const, message: 'It needs 900 GiB.', details: {} }
    const shown = renderForecast({ ...FITS, outcome: 'refused', refusal, largestContext: null })
    expect(shown).toContain('it would be refused: It needs 900 GiB.')
    expect(shown).toContain('no context fits')
  })
})
