import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ENGINES_DIRECTORY, fetched, TINY_CHAT, TINY_CHAT_FOLDER } from '../models/paths.ts'
import { descendants, HAS_LLAMA, isRunning, openHome, serve, type ServedYard, until } from './harness.ts'

const HAS_ALL =
  HAS_LLAMA && ['llama-server', 'mlx'].every((engine) => fetched(join(ENGINES_DIRECTORY, engine)))
const MIB = 1024 ** 2
const BUDGET = 420 * MIB
const HELLO = 'Hello, how are you today?'
const MODELS = ['embedded', 'server', 'apple', 'first', 'second']

interface State {
  instances: { model: string }[]
  memory: { ram: { booked: number } }
}

let served: ServedYard | undefined
afterAll(() => served?.stop())

async function stateOf({ program }: ServedYard): Promise<State> {
  return (await (await fetch(`${program.url}/api/yard/state`)).json()) as State
}

describe.runIf(HAS_ALL)('E6: five models on four engines under one budget', () => {
  it('each answers, others make way within the budget, ps shows them, and nothing is left', async () => {
    const small = { context: 512, slots: 1 }
    const fake = { engine: 'scripted', memory: '200MiB', script: [{ text: HELLO }] }
    const home = await openHome({
      memory: { budget: BUDGET, headroom: 0 },
      models: {
        embedded: { file: TINY_CHAT, ...small },
        server: { file: TINY_CHAT, engine: 'llama-server', ...small },
        apple: { source: TINY_CHAT_FOLDER, ...small },
        first: fake,
        second: fake,
      },
    })
    served = await serve(home)
    const { api, program } = served
    const seen = new Set<number>()
    for (const model of [...MODELS, ...MODELS.toReversed()]) {
      const { status, text } = await api.chat('hi', { model })
      expect({ model, status, text }).toEqual({ model, status: 200, text: HELLO })
      const state = await stateOf(served)
      expect(state.memory.ram.booked).toBeLessThanOrEqual(BUDGET)
      expect(state.instances.some((instance) => instance.model === model)).toBe(true)
      for (const pid of descendants(program.pid)) seen.add(pid)
    }
    const state = await stateOf(served)
    expect(state.instances.length).toBeLessThan(MODELS.length)
    const { out, code } = await home.run(['ps'])
    expect(code).toBe(0)
    for (const { model } of state.instances) expect(out).toContain(model)
    await served.stop()
    served = undefined
    await until(() => [...seen].every((pid) => !isRunning(pid)))
  })
})
