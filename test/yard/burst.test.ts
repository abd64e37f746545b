import { describe, expect, it } from 'vitest'
import { chatBody, openHome, serve, sleep } from './harness.ts'

/** How one request of the burst ended. */
interface Outcome {
  status: number
  text: string
  took: number
  retryAfter: number
}

// Both mostly wait, each on a server of its own.
describe.concurrent('a burst of 200 requests in two seconds, with the default limits', () => {
  it('is answered or refused at once with 429, a true Retry-After and a place in the queue; streams show their place while they wait; nothing is lost (R2, P4)', async () => {
    const home = await openHome({
      models: {
        // Four slots of 400 ms: 128 may wait, the last of them for some 13 s.
        talker: { engine: 'scripted', isolation: 'worker', script: [{ text: ['do', 'ne'], delay: 200 }] },
      },
    })
    const served = await serve(home)
    const { api } = served
    const ask = async (index: number): Promise<Outcome> => {
      const begun = performance.now()
      const fields = { model: 'talker', stream: index % 2 === 0 }
      const response = await api.post('/v1/chat/completions', chatBody(`request ${index}`, fields))
      const text = await response.text()
      const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
      return { status: response.status, text, took: performance.now() - begun, retryAfter }
    }
    await ask(-1)
    const asked = Array.from({ length: 200 }, async (_, index) => {
      await sleep(index * 10)
      return ask(index)
    })
    const outcomes = await Promise.all(asked)
    const answered = outcomes.filter(({ status }) => status === 200)
    const refused = outcomes.filter(({ status }) => status === 429)
    expect(answered.length + refused.length).toBe(200)
    expect(answered.length).toBeGreaterThanOrEqual(128)
    expect(refused.length).toBeGreaterThan(0)
    for (const { text } of answered) expect(text).toMatch(/"done"|"do"[^]*"ne"[^]*\[DONE\]/)
    for (const { text, took, retryAfter } of refused) {
      expect(text).toMatch(
        /128 requests wait already for .{1,2}talker.{1,2} \(at most 128 may\); this one would be number 129/,
      )
      expect(took).toBeLessThan(2000)
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(60)
    }
    const shown = answered.flatMap(({ text }) => [
      ...text.matchAll(/^: number (\d+) of those who wait for "talker"/gm),
    ])
    expect(shown.length).toBeGreaterThan(0)
    for (const [, place] of shown) expect(Number(place)).toBeGreaterThan(0)
    await api.until(({ runs, queue }) => runs.active === 0 && queue.length === 0)
    await served.stop()
  })

  it('who comes again after Retry-After is served', async () => {
    const home = await openHome({
      models: {
        talker: { engine: 'scripted', isolation: 'worker', slots: 1, script: [{ text: 'done', delay: 300 }] },
      },
      limits: { queuePerModel: 8 },
    })
    const served = await serve(home)
    const ask = (): ReturnType<typeof served.api.chat> => served.api.chat('hi', { model: 'talker' })
    await ask()
    const burst = await Promise.all(Array.from({ length: 20 }, async () => ask()))
    const refused = burst.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(5)
    const [first] = refused
    await sleep(Number(first?.headers.get('retry-after')) * 1000)
    expect(await ask()).toMatchObject({ status: 200, text: 'done' })
    await served.stop()
  })
})
