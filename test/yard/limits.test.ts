import { describe, expect, it } from 'vitest'
import { soonest } from '../soonest.ts'
import { Api, ownYards, TALKER, user } from './harness.ts'

const { open } = ownYards()
const TALKERS = { models: { talker: TALKER } }

describe('P13: time limits of whole requests', () => {
  it('limits.runTimeout ends what takes longer: 504 before the first byte, the error event after it', async () => {
    const yard = await open({ ...TALKERS, limits: { runTimeout: '2s' } })
    const { url } = await yard.listen({ port: 0 })
    const api = new Api(url)
    const whole = await api.chat('for ever', { model: 'talker' })
    expect([whole.status, whole.body]).toMatchObject([504, { error: { code: 'timeout' } }])
    const stream = await (await api.stream('for ever', { model: 'talker' })).readAll()
    expect(stream.text).toMatch(/^tick /)
    expect([stream.response.status, stream.errors[0]?.code, stream.events.at(-1)]).toEqual([
      200,
      'timeout',
      '[DONE]',
    ])
    expect((await api.chat('hi', { model: 'talker' })).text).toBe('Hello')
  })

  it('a request may ask for less by field or header, and never for more than the limit', async () => {
    const yard = await open({ ...TALKERS, limits: { runTimeout: '2s' } })
    await yard.loadModel('talker')
    const { url } = await yard.listen({ port: 0 })
    const body = JSON.stringify({ model: 'talker', messages: [user('for ever')] })
    const ask = async (limit: string): Promise<number> => {
      const begun = performance.now()
      const headers = { 'content-type': 'application/json', 'modelyard-timeout': limit }
      const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
      expect(response.status).toBe(504)
      return performance.now() - begun
    }
    expect(await soonest(() => ask('50ms'), 1900)).toBeLessThan(1900)
    expect(await ask('1h')).toBeGreaterThan(1900)
  })

  it('library calls end with what was produced', async () => {
    const yard = await open({ ...TALKERS, limits: { runTimeout: '2s' } })
    await yard.chat({ model: 'talker', messages: [user('hi')] }).text()
    const { text, result } = await yard.chat({ model: 'talker', messages: [user('for ever')] }).answer()
    expect([text.slice(0, 5), result.finishReason]).toEqual(['tick ', 'timeout'])
  })
})
