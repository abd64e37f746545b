import { describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { Api, ownYards, TALKER, until, user } from './harness.ts'

describe('more than the copy in memory offers (M3, F25)', () => {
  const yards = ownYards()

  const shapeOf = (yard: Yard): string[] =>
    yard.state().instances.map(({ slots, contextSize }) => `${slots.length} × ${contextSize}`)

  it('a request that needs a larger context has it loaded anew when its runs have ended, none is cut', async () => {
    const yard = await yards.open({ models: { m: { ...TALKER, context: 1024, slots: 2, keepAlive: -1 } } })
    const under = new AbortController()
    const long = yard.chat({ model: 'm', messages: [user('for ever')], signal: under.signal })
    const words = long[Symbol.asyncIterator]()
    expect((await words.next()).done).toBe(false)
    // Beside the old copy, for there is room.
    expect(await yard.chat({ model: 'm', messages: [user('hi')], context: 4096 }).text()).toBe('Hello')
    expect(yard.state().instances.map(({ state }) => state)).toEqual(['draining', 'ready'])
    expect((await words.next()).done).toBe(false)
    under.abort()
    await until(() => yard.state().instances.length === 1)
    expect(await yard.chat({ model: 'm', messages: [user('hi')], context: 2048 }).text()).toBe('Hello')
    expect(shapeOf(yard)).toEqual(['2 × 4096'])
    expect(yard.state().models[0]).toMatchObject({ loads: 2, contextLength: 4096 })
  })

  it('a load with context and slots replaces the copy; unloaded, the model is as configured again', async () => {
    const yard = await yards.open({ models: { m: { ...TALKER, context: 1024, slots: 1, keepAlive: -1 } } })
    const api = new Api((await yard.listen({ port: 0 })).url)
    const load = async (wish: object): Promise<number> =>
      (await api.post('/api/yard/load', JSON.stringify({ model: 'm', ...wish }))).status
    const shapes: string[] = []
    for (const wish of [{}, { context: 2048 }, { slots: 3 }, { context: 1, slots: 1 }]) {
      expect(await load(wish)).toBe(200)
      shapes.push(...shapeOf(yard))
    }
    expect(shapes).toEqual(['1 × 1024', '1 × 2048', '3 × 2048', '3 × 2048'])
    expect(await load({ context: 0 })).toBe(400)
    await yard.unloadModel('m')
    await load({})
    expect(shapeOf(yard)).toEqual(['1 × 1024'])
  })
})
