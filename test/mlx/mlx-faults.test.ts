import { cp, readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { processTree } from '../../src/host/process-tree.ts'
import { removeFolder, temporaryFolder, TINY_CHAT_FOLDER } from '../models/paths.ts'
import { ask, chat, NEVER, read } from '../node-llama-cpp/fixtures.ts'
import { isRunning, until } from '../yard/harness.ts'
import { HAS_MLX, load, planOf, RECORDS, removeRecords } from './fixtures.ts'

afterAll(removeRecords)

/** The tokens that would end a turn are forbidden. */
const ENDLESS = { sampling: { temperature: 0, logitBias: { 0: -100, 2: -100 } } }

/** Pids of workers that are written down. */
async function recorded(): Promise<number[]> {
  const names = await readdir(RECORDS).catch((): string[] => [])
  return names.map((name) => Number(name.split('-')[0]))
}

async function expectNothingLeft(pids: readonly number[]): Promise<void> {
  await until(() => pids.every((pid) => !isRunning(pid)))
  expect(await recorded()).toEqual([])
}

/** Kills the worker: whoever waits is told, and nothing of it is left. */
async function expectEndOf(model: LoadedModel, pending: Promise<unknown>): Promise<void> {
  const pid = model.pid ?? 0
  const tree = processTree(pid)
  pending.catch(() => undefined)
  process.kill(pid, 'SIGKILL')
  await expect(pending).rejects.toMatchObject({ code: 'worker_exited', details: { pid } })
  expect(await model.exited).toMatchObject({ expected: false })
  await expect(model.ping()).rejects.toMatchObject({ code: 'worker_exited' })
  await expectNothingLeft(tree)
}

describe.runIf(HAS_MLX)('mlx: kill -9 leaves no child and no hanging caller', () => {
  it('while it loads', async () => {
    const loading = load()
    loading.catch(() => undefined)
    let pids: number[] = []
    await until(async () => (pids = await recorded()).length > 0)
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await expect(loading).rejects.toMatchObject({ code: 'model_load_failed' })
    await expectNothingLeft(pids)
  })

  it('idle, and the next load works', async () => {
    const model = await load()
    await expectEndOf(
      model,
      model.exited.then(() => model.ping()),
    )
    await expect(model.memory()).rejects.toMatchObject({ code: 'worker_exited' })
  })

  it('in prefill', async () => {
    const model = await load()
    const task = chat('one two three '.repeat(400), ENDLESS)
    const running = read(model.run(task, { slot: 0, keptPrefix: 0, signal: NEVER }))
    await expectEndOf(model, running)
    expect(await recorded()).toEqual([])
  })

  it('in decode', async () => {
    const model = await load()
    const parts = model.run(chat('Count.', ENDLESS), { slot: 0, keptPrefix: 0, signal: NEVER })
    await parts.next()
    await parts.next()
    await expectEndOf(model, read(parts))
    expect(await recorded()).toEqual([])
  })

  it('while it is unloaded', async () => {
    const model = await load()
    const tree = processTree(model.pid ?? 0)
    const running = read(model.run(chat('Count.', ENDLESS), { slot: 0, keptPrefix: 0, signal: NEVER }))
    running.catch(() => undefined)
    const unloading = model.unload()
    if (isRunning(tree[0] ?? 0)) process.kill(tree[0] ?? 0, 'SIGKILL')
    await unloading
    const code = expect.stringMatching(/^(run_cut|worker_exited)$/) as string
    await expect(running).rejects.toMatchObject({ code })
    expect(await model.exited).toMatchObject({ expected: true })
    await expectNothingLeft(tree)
  })
})

describe.runIf(HAS_MLX)('mlx: models that cannot be loaded', () => {
  it('weights that are cut off, told with what to do', async () => {
    const folder = await temporaryFolder()
    await cp(TINY_CHAT_FOLDER, folder, { recursive: true })
    await truncate(join(folder, 'model.safetensors'), 100_000)
    await expect(load(await planOf(folder))).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('Its folder is damaged') as string,
      details: { failure: 'bad_file' },
    })
    await expectNothingLeft([])
    await removeFolder(folder)
  })

  it('a Python without mlx', async () => {
    const plan = await planOf(TINY_CHAT_FOLDER, { engineOptions: { python: '/usr/bin/env' } })
    await expect(load(plan)).rejects.toMatchObject({ code: 'model_load_failed' })
  })
})

describe.runIf(HAS_MLX)('mlx: what its server lacks is done here', () => {
  let model: LoadedModel | undefined
  const loaded = async (): Promise<LoadedModel> => (model ??= await load())
  afterAll(async () => model?.unload())

  const tools = [
    {
      name: 'get_weather',
      description: 'Get the weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ]
  const GREEDY = { temperature: 0 }

  it('calls of tools: two of the model’s own, one after the other', async () => {
    const { parts, result } = await ask(
      await loaded(),
      chat('Weather in Rome and Oslo?', { tools, sampling: GREEDY }),
    )
    expect(result.finishReason).toBe('tool-calls')
    expect(parts.flatMap((part) => (part.type === 'tool-call' ? [part.name] : []))).toEqual([
      'get_weather',
      'get_weather',
    ])
    const written = parts.flatMap((part) => (part.type === 'tool-call-arguments' ? [part.text] : [])).join('')
    expect(written.replaceAll(' ', '')).toBe('{"city":"Rome"}{"city":"Oslo"}')
  })

  it('a forced call, whose arguments fit the tool’s schema although the model would say something else', async () => {
    const cities = { type: 'object', properties: { city: { enum: ['Rome', 'Oslo'] } }, required: ['city'] }
    const forced = [{ name: 'get_weather', parameters: { ...cities, additionalProperties: false } }]
    const { parts, result } = await ask(
      await loaded(),
      chat('hi', { tools: forced, toolChoice: { name: 'get_weather' }, sampling: GREEDY, maxTokens: 200 }),
    )
    expect(result.finishReason).toBe('tool-calls')
    const written = parts.flatMap((part) => (part.type === 'tool-call-arguments' ? [part.text] : [])).join('')
    expect(['Rome', 'Oslo']).toContain((JSON.parse(written) as { city: string }).city)
  })

  it('characters of several tokens where a grammar asks for them', async () => {
    const grammar = 'root ::= "é€" | "😀"'
    const { text } = await ask(await loaded(), chat('hi', { format: { type: 'grammar', grammar } }))
    expect(['é€', '😀']).toContain(text)
  })

  it('log-probabilities, echo, prompts of token ids, and a seed that repeats a chance', async () => {
    const all = await loaded()
    const { parts } = await ask(all, chat('hi', { topLogprobs: 2, maxTokens: 2, sampling: GREEDY }))
    const [first] = parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
    expect(first).toMatchObject({ text: 'Hello', bytes: [...Buffer.from('Hello')] })
    expect(first?.logprob).toBeLessThanOrEqual(0)
    expect(first?.top).toHaveLength(2)
    const echoed = await ask(all, {
      kind: 'completion',
      prompt: [316, 203],
      echo: true,
      maxTokens: 0,
      sampling: {},
      stop: [],
    })
    expect(echoed.text).toContain('user')
    await expect(
      ask(all, { kind: 'completion', prompt: [99_999], sampling: {}, stop: [] }),
    ).rejects.toMatchObject({ code: 'invalid_request', details: { param: 'prompt' } })
    const warm = chat('hi', { sampling: { temperature: 2, seed: 0 }, maxTokens: 8 })
    expect((await ask(all, warm)).text).toBe((await ask(all, warm)).text)
  })
})
