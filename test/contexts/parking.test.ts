import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import type { Message } from '../../src/tasks/message.ts'
import type { Yard } from '../../src/yard.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { HAS_LLAMA, ownYards, user } from '../yard/harness.ts'

interface Turn {
  text: string
  cached: number
  prompt: number
}

const WORDS = 'the model and the server '

/** One turn of a conversation at temperature 0. */
async function ask(yard: Yard, model: string, messages: Message[], cache?: 'none'): Promise<Turn> {
  const request = {
    model,
    messages,
    temperature: 0,
    maxTokens: 12,
    ...(cache === undefined ? {} : { cache }),
  }
  const { text, result } = await yard.chat(request).answer()
  return { text, cached: result.usage.cachedTokens, prompt: result.usage.promptTokens }
}

const begin = (name: string): Message[] => [user(`${name} ${WORDS.repeat(8)}`)]
const goOn = (messages: Message[], answer: string): Message[] => [
  ...messages,
  { role: 'assistant', content: answer },
  user('and the user'),
]

describe.runIf(HAS_LLAMA)('contexts that survive, with real weights (R16)', () => {
  const test = ownYards()
  const contextsFolder = (): string => join(test.home.path, 'contexts')

  /** Two models of which one fits. */
  let models: Record<string, { file: string; context: number; slots: number }>
  beforeEach(() => {
    const model = (name: string, seed: number): { file: string; context: number; slots: number } => ({
      file: makeTinyModel(join(test.home.path, `${name}.gguf`), { seed }).path,
      context: 512,
      slots: 1,
    })
    models = { a: model('a', 1), b: model('b', 2) }
  })

  const open = async (more: object = {}): Promise<{ yard: Yard; events: YardEvent[] }> => {
    const yard = await test.open({
      models,
      memory: { maxLargeModels: 1, smallModel: 0 },
      contexts: { parking: 'always' },
      ...more,
    })
    const events: YardEvent[] = []
    yard.subscribe((event) => events.push(event))
    return { yard, events }
  }

  it('the second turn after a swap reuses the first, and says the same as without', async () => {
    const { yard, events } = await open()
    const first = await ask(yard, 'a', begin('x'))
    await ask(yard, 'b', begin('y'))
    const turn = goOn(begin('x'), first.text)
    const second = await ask(yard, 'a', turn)
    expect(events.map(({ name }) => name)).toContain('context-restored')
    expect(second.cached).toBeGreaterThan(first.prompt - 5)
    expect(await ask(yard, 'a', turn, 'none')).toEqual({ ...second, cached: 0 })
  })

  it('so it is after a restart of the server', async () => {
    const { yard } = await open()
    const first = await ask(yard, 'a', begin('x'))
    await yard.stop()
    const again = await open()
    const second = await ask(again.yard, 'a', goOn(begin('x'), first.text))
    expect(second.cached).toBeGreaterThan(first.prompt - 5)
  })

  it('files are readable by their owner alone', async () => {
    const { yard } = await open()
    await ask(yard, 'a', begin('x'))
    await yard.stop()
    expect((await stat(contextsFolder())).mode & 0o777).toBe(0o700)
    const names = await readdir(contextsFolder())
    expect(names.sort()).toEqual(['context-1.json', 'context-1.slot'])
    for (const name of names) expect((await stat(join(contextsFolder(), name))).mode & 0o777).toBe(0o600)
  })
})
