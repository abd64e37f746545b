import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { tokenId } from '../models/tiny-vocabulary.ts'
import type { TestHome } from '../cli/program.ts'
import { HAS_LLAMA, openHome, serve, user } from './harness.ts'

/** Tokens of the longest context: 512 MiB of keys and values, more than the whole budget. */
const LONGEST = 65_536
const TOKENS = 600

/** Small; a token of its context takes 8 KiB. `endless`: its answers go on until they may not. */
async function homeOfWide(): Promise<{ home: TestHome; endless: Record<string, number> }> {
  const home = await openHome()
  const { path, vocabulary } = makeTinyModel(join(home.path, 'wide.gguf'), {
    mode: 'tiled',
    dimension: 128,
    layers: 16,
    heads: 4,
    keyValueHeads: 4,
    context: LONGEST,
    type: 'q8_0',
  })
  await home.configure({
    memory: { budget: '400MiB', headroom: '16MiB' },
    models: { wide: { file: path, context: 2048, slots: 1, keepAlive: -1 } },
  })
  const ends = ['<|endoftext|>', '<|im_end|>'].map((text) => tokenId(vocabulary, text))
  return { home, endless: Object.fromEntries(ends.map((id) => [id, -100])) }
}

describe.runIf(HAS_LLAMA)('a wish for more than fits, of a model with real weights (M3, M5, F25)', () => {
  it('is refused with need, limit and the largest context; the copy in memory stays and its stream is whole', async () => {
    const { home, endless } = await homeOfWide()
    const { api, stop } = await serve(home)
    const ask = async (context: number): Promise<{ status: number; error?: string }> => {
      const body = { model: 'wide', messages: [user('hi')], stream: false }
      const options = { num_ctx: context, num_predict: 4 }
      const response = await api.post('/api/chat', JSON.stringify({ ...body, options }))
      return { status: response.status, ...((await response.json()) as { error?: string }) }
    }
    const stream = await api.stream('hi', {
      model: 'wide',
      max_tokens: TOKENS,
      logit_bias: endless,
    })
    await stream.readText(1)
    const before = await api.instance('wide')

    const { status, error = '' } = await ask(LONGEST)
    expect(status).toBe(507)
    const told =
      /needs ([\d.]+) MiB of ram, the limit is 400 MiB\. The largest context that fits is (\d+) \(asked: 65536\)/
    const [, need = 0, largest = 0] = (told.exec(error) ?? []).map(Number)
    expect(error).toMatch(told)
    expect(need).toBeGreaterThan(512)
    expect(largest).toBeGreaterThan(2048)
    const load = await api.post('/api/yard/load', JSON.stringify({ model: 'wide', context: LONGEST }))
    expect([load.status, await load.text()]).toEqual([507, expect.stringMatching(told)])

    // All of that while it was answering.
    expect((await api.state()).runs.active).toBe(1)
    expect(await api.instance('wide')).toMatchObject({
      id: before?.id,
      pid: before?.pid,
      state: 'ready',
      contextSize: 2048,
    })
    await stream.readAll()
    expect([stream.finishReasons, stream.errors, stream.events.at(-1)]).toEqual([['length'], [], '[DONE]'])
    expect(await api.model('wide')).toMatchObject({ loads: 1, evictions: 0 })
    expect((await api.chat('hi', { model: 'wide', max_tokens: 4 })).status).toBe(200)
    const command = await home.run(['load', 'wide', '--context', String(LONGEST)])
    expect([command.code, command.err]).toEqual([4, expect.stringMatching(told)])
    expect((await api.instance('wide'))?.pid).toBe(before?.pid)

    // What it was told would fit does.
    expect(await ask(largest)).toMatchObject({ status: 200 })
    expect(await api.instance('wide')).toMatchObject({ state: 'ready', contextSize: largest })
    expect((await api.model('wide')).loads).toBe(2)
    await stop()
  })
})
