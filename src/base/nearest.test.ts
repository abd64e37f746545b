import { describe, expect, it } from 'vitest'
import { nearestNames } from './nearest.ts'

describe('nearestNames', () => {
  it('finds what was meant and nothing far-fetched', () => {
    expect(nearestNames('smolm2', ['smollm2', 'minilm', 'whisper'])[0]).toBe('smollm2')
    expect(nearestNames('keepalive', ['keepAlive', 'slots'])).toEqual(['keepAlive'])
    expect(nearestNames('zzzzzz', ['smollm2'])).toEqual([])
  })

  it('says a name once that is known from two places', () => {
    expect(nearestNames('smolm2', ['smollm2', 'smollm2'])).toEqual(['smollm2'])
  })
})
