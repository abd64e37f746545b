import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { processTree } from '../../src/host/process-tree.ts'
import type { YardState } from '../../src/yard-state.ts'
import {
  ENGINES_DIRECTORY,
  fetched,
  removeFolder,
  temporaryFolder,
  TINY_CHAT,
  TINY_CHAT_FOLDER,
} from '../models/paths.ts'
import { HAS_TRANSFORMERS, pulled } from '../transformers/fixtures.ts'
import {
  descendants,
  HAS_LLAMA,
  isRunning,
  openHome,
  readMemory,
  serve,
  type ServedYard,
  until,
} from './harness.ts'

const HAS_ALL =
  HAS_LLAMA && ['llama-server', 'mlx'].every((engine) => fetched(join(ENGINES_DIRECTORY, engine)))
const MIB = 1024 ** 2
const BUDGET = 620 * MIB
const HELLO = 'Hello, how are you today?'
const DECLARED = 200 * MIB
const MODELS = ['embedded', 'server', 'apple', 'vectors', 'declared']
/** Of a worker: it was measured some moments before we look, and touches pages of its buffers, its heap and its program meanwhile. */
const SINCE = 12 * MIB

let served: ServedYard | undefined
const copies: string[] = []
afterAll(async () => {
  await served?.stop()
  await Promise.all(copies.map(removeFolder))
})

type Instance = YardState['instances'][number]

/** MiniLM, as `npm test` fetches it. */
const MINILM = HAS_TRANSFORMERS ? await pulled('minilm-onnx') : undefined

/** What a model answers: its text, or the size of its vector. */
async function answerOf(api: ServedYard['api'], model: string): Promise<unknown> {
  if (model !== 'vectors') return (await api.chat('hi', { model })).text
  const response = await api.post('/v1/embeddings', JSON.stringify({ model, input: 'hi' }))
  const { data } = (await response.json()) as { data: { embedding: number[] }[] }
  return data[0]?.embedding.length
}

interface Held {
  instance: Instance
  pss: number
  rss: number
}

/** tiny-chat as safetensors alone: a GGUF file beside them would be the model. */
async function folderWithoutGguf(): Promise<string> {
  const folder = await temporaryFolder()
  await cp(TINY_CHAT_FOLDER, folder, { recursive: true, filter: (path) => !path.endsWith('.gguf') })
  copies.push(folder)
  return folder
}

/** What the processes of each instance hold, read from outside; of none where the kernel does not tell it, nor of a copy without a process. */
async function heldBy(instances: readonly Instance[]): Promise<Held[]> {
  if (process.platform !== 'linux') return []
  const all = instances.map(async (instance) => {
    const pids = instance.pid === undefined ? [] : processTree(instance.pid)
    const sizes = await Promise.all(pids.map(readMemory))
    const sum = (of: 'pss' | 'rss'): number => sizes.reduce((bytes, size) => bytes + size[of], 0)
    return { instance, pss: sum('pss'), rss: sum('rss') }
  })
  return (await Promise.all(all)).filter(({ rss }) => rss > 0)
}

/** The state's bytes are those of the processes; what was only promised beside them is the declared copies'. */
function expectTrue({ instances, memory }: YardState, held: readonly Held[]): void {
  for (const { instance, pss, rss } of held) {
    const { model, measured = {}, booked } = instance
    expect(Math.abs((measured.ram ?? 0) - rss), `${model} is measured`).toBeLessThan(SINCE)
    expect(booked.ram ?? 0, `${model} is booked as what it holds at least`).toBeGreaterThan(rss - SINCE)
    expect(pss, `${model} has its share of shared pages`).toBeLessThanOrEqual(rss)
  }
  const declared = instances.filter(({ pid }) => pid === undefined).length * DECLARED
  const own = held.reduce((sum, { pss }) => sum + pss, 0)
  // Pages that several map are booked once and whole: all shares together are never more.
  expect(declared + own).toBeLessThan((memory.ram?.booked ?? 0) + held.length * SINCE)
  expect(memory.ram?.booked).toBeLessThanOrEqual(BUDGET)
}

describe.runIf(HAS_ALL && MINILM !== undefined)('E6: five models on five engines under one budget', () => {
  it('each answers, others make way within the budget, what is booked and measured is what the processes hold, ps shows them, and nothing is left', async () => {
    const small = { context: 512, slots: 1 }
    const home = await openHome({
      memory: { budget: BUDGET, headroom: 0 },
      models: {
        embedded: { file: TINY_CHAT, ...small },
        server: { file: TINY_CHAT, engine: 'llama-server', ...small },
        apple: { source: await folderWithoutGguf(), ...small },
        vectors: { source: MINILM ?? '' },
        declared: { engine: 'scripted', memory: DECLARED, script: [{ text: HELLO }] },
      },
    })
    served = await serve(home)
    const { api, program } = served
    const seen = new Set<number>()
    for (const model of [...MODELS, ...MODELS.toReversed()]) {
      const answer = model === 'vectors' ? 384 : HELLO
      expect({ model, answer: await answerOf(api, model) }).toEqual({ model, answer })
      const state = await api.state()
      expect(state.instances.some((instance) => instance.model === model)).toBe(true)
      // On a busy machine it has grown on since it was measured: it is measured again after a use, at most every ten seconds.
      let looks = 0
      await vi.waitFor(
        async () => {
          if (looks++ > 0) for (const one of (await api.state()).instances) await answerOf(api, one.model)
          const now = await api.state()
          expectTrue(now, await heldBy(now.instances))
        },
        { timeout: 40_000, interval: 3000 },
      )
      const known = new Set(state.instances.flatMap(({ pid }) => (pid === undefined ? [] : processTree(pid))))
      const workers = descendants(program.pid)
      // Whoever made way is gone, and so are its bytes.
      expect(workers.filter((pid) => !known.has(pid))).toEqual([])
      for (const pid of workers) seen.add(pid)
    }
    const state = await api.state()
    expect(state.instances.length).toBeLessThan(MODELS.length)
    const [loads, evictions] = (['loads', 'evictions'] as const).map((of) =>
      state.models.reduce((sum, model) => sum + (model[of] ?? 0), 0),
    )
    expect(loads).toBeGreaterThan(MODELS.length)
    expect(loads).toBeLessThan(2 * MODELS.length)
    expect(evictions).toBe((loads ?? 0) - state.instances.length)
    // What was loaded once before is booked as what it was seen to hold, not as what was promised. Who is reloaded depends on what loads take.
    const reloaded = new Set(state.models.filter((model) => (model.loads ?? 0) > 1).map(({ id }) => id))
    const again = await heldBy(state.instances.filter(({ model }) => reloaded.has(model)))
    expect(again.length).toBeGreaterThan(0)
    for (const { instance, rss } of again)
      expect((instance.booked.ram ?? 0) - rss, `${instance.model}, the second time`).toBeLessThan(SINCE)
    const { out, code } = await home.run(['ps'])
    expect(code).toBe(0)
    for (const { model } of state.instances) expect(out).toContain(model)
    await served.stop()
    served = undefined
    await until(() => [...seen].every((pid) => !isRunning(pid)))
  })
})
