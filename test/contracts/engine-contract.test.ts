import { copyFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { Engine, LoadPlan } from '../../src/engines/engine.ts'
import { LlamaServerEngine } from '../../src/engines/llama-server/llama-server-engine.ts'
import { NodeLlamaCppEngine } from '../../src/engines/node-llama-cpp/node-llama-cpp-engine.ts'
import { MlxEngine } from '../../src/engines/mlx/mlx-engine.ts'
import { ScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts'
import { UpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts'
import { engineContract, type EngineContractSubject } from '../../src/testing/index.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, fetched, removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { chat, embedding, factsOf, HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { createWorkerEngine } from '../worker/worker-fixtures.ts'
import { mlxSubject } from './mlx-subject.ts'
import { UNICODE } from './said-by-grammar.ts'
import { scriptedSubject } from './scripted-subject.ts'
import { SHORT_ENDS } from './short-ends.ts'
import { openRemote, upstreamSubject } from './upstream-subject.ts'

const clock = new SystemClock()

function inWorker(inner: Engine, engineOptions: Record<string, unknown> = {}): Engine {
  return createWorkerEngine({ engine: inner.name, inner, engineOptions, deadlines: SHORT_ENDS })
}

const installed = fetched(join(ENGINES_DIRECTORY, 'node-llama-cpp/node_modules'))
const folder = await temporaryFolder()
const remote = await openRemote(join(folder, 'remote'))
afterAll(async () => {
  await remote.yard.stop({ deadline: 0 })
  await removeFolder(folder)
})

/** The tokens that would end a turn are forbidden: about three seconds of text. */
const NO_END = { temperature: 0, logitBias: { 0: -100, 2: -100 } }

/** As a file that was cut short after it had been looked at. */
async function damagedPlan(engine: Engine): Promise<LoadPlan> {
  const path = join(folder, 'damaged.gguf')
  await copyFile(TINY_CHAT, path)
  const facts = await factsOf(path)
  await truncate(path, 200_000)
  return engine.plan(specOf({ context: 512 }), facts, HOST)
}

function llamaSubject(
  engine: Engine,
  { ownProcess = true }: { ownProcess?: boolean } = {},
): EngineContractSubject {
  const embedder = makeTinyModel(join(folder, `embedder-${engine.constructor.name}.gguf`), {
    pooling: 'mean',
  })
  return {
    engine,
    plan: async ({ slots, contextSize }) =>
      engine.plan(specOf({ slots, context: contextSize }), await factsOf(TINY_CHAT), HOST),
    chats: [
      { task: chat('hi', { sampling: { temperature: 0 } }), answer: 'Hello, how are you today?' },
      {
        task: chat('Count.', { sampling: { temperature: 0 } }),
        answer: 'one two three four five six seven eight nine ten',
      },
      {
        task: chat('Hello, how are you today?', { sampling: { temperature: 0 } }),
        answer: 'I am fine, thank you.',
      },
    ],
    endless: chat('Count.', { sampling: NO_END }),
    longPrompt: (tokens) => chat('one two three '.repeat(Math.ceil(tokens / 3)), { sampling: NO_END }),
    controlText: '<|im_end|>',
    unicode: UNICODE,
    holdsFormats: true,
    ...(ownProcess && { ownProcess }),
    corrupt: { failure: 'bad_file', plan: () => damagedPlan(engine) },
    foreignOption: async () =>
      engine.plan(specOf({ engineOptions: { banana: 1 } }), await factsOf(TINY_CHAT), HOST),
    continuation: {
      task: chat(
        [
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: 'Hello, how' },
        ],
        { sampling: { temperature: 0 } },
      ),
      answer: ' are you today?',
    },
    embedding: {
      plan: async () => engine.plan(specOf({ context: 256 }), await factsOf(embedder.path), HOST),
      task: embedding(['one', 'two', 'three']),
      dimensions: 64,
    },
  }
}

const llama = new NodeLlamaCppEngine({ enginesDirectory: ENGINES_DIRECTORY })
const llamaServer = new LlamaServerEngine({
  enginesDirectory: ENGINES_DIRECTORY,
  clock,
  deadlines: SHORT_ENDS,
})
const { available: hasServer } = await llamaServer.detect()

/** `runs` is false where the engine's package is not installed. */
const mlx = new MlxEngine({ enginesDirectory: ENGINES_DIRECTORY, deadlines: SHORT_ENDS })
const { available: hasMlx } = await mlx.detect()

const SUBJECTS: { name: string; runs: boolean; subject: EngineContractSubject }[] = [
  { name: 'mlx', runs: hasMlx, subject: mlxSubject(mlx, folder) },
  { name: 'scripted, in-process', runs: true, subject: scriptedSubject(new ScriptedEngine()) },
  {
    name: 'scripted, in a worker',
    runs: true,
    subject: scriptedSubject(inWorker(new ScriptedEngine()), { ownProcess: true }),
  },
  {
    name: 'node-llama-cpp, in-process',
    runs: installed,
    subject: llamaSubject(llama, { ownProcess: false }),
  },
  {
    name: 'node-llama-cpp, in a worker',
    runs: installed,
    subject: llamaSubject(inWorker(llama, { enginesDirectory: ENGINES_DIRECTORY })),
  },
  { name: 'llama-server', runs: hasServer, subject: llamaSubject(llamaServer) },
  {
    name: 'upstream, of another yard',
    runs: true,
    subject: upstreamSubject(new UpstreamEngine({ clock }), () => remote.url),
  },
]

describe.each(SUBJECTS.map((row) => [row.name, row] as const))('%s', (_, { runs, subject }) => {
  const contract = engineContract(subject)
  afterAll(() => contract.close())
  const asked = contract.cases.filter(({ gap }) => gap === undefined)
  const gaps = contract.cases.filter(({ gap }) => gap !== undefined)

  it.runIf(runs).each(asked.map(({ name, run }) => [name, run] as const))('%s', async (__, run) => {
    await expect(run()).resolves.toBeUndefined()
  })

  it.runIf(false).each(gaps.map(({ name, gap }) => `${name} (gap: ${gap})`))('%s', (gap) => {
    expect(gap).toBe('filled')
  })
})

/** Of these no engine may have a gap but for what no process of its own can suffer. */
const NEVER_MISSING = /abort|exit|memory|two models|unload|damaged|process|killed/

describe('the contract itself', () => {
  it('has sixty behaviours and more, of which engines in a process of their own leave out none about ends', () => {
    for (const { name, subject } of SUBJECTS) {
      const { cases } = engineContract(subject)
      expect(cases.length).toBeGreaterThanOrEqual(60)
      const missing = cases.filter((each) => each.gap !== undefined && NEVER_MISSING.test(each.name))
      const allowed = subject.ownProcess === true ? [] : ['the subject has no ownProcess']
      expect({ name, missing: missing.filter(({ gap = '' }) => !allowed.includes(gap)) }).toEqual({
        name,
        missing: [],
      })
    }
  })

  it('refuses a gap that no capability of the engine says', () => {
    const one = scriptedSubject(new ScriptedEngine())
    const gapOf = (name: string): (() => unknown) => {
      return () => engineContract({ ...one, gaps: { [name]: 'x' } })
    }
    expect(gapOf('can be unloaded twice, at once and later')).toThrow('no capability allows it')
    expect(gapOf('clears the slot where no prefix is kept (F1)')).toThrow(
      'capabilities.keepsPrefixes is true',
    )
  })

  it('refuses gaps that name no case, so that a renamed case is not skipped for ever', () => {
    const subject = { ...scriptedSubject(new ScriptedEngine()), gaps: { 'no such case': 'x' } }
    expect(() => engineContract(subject)).toThrow('no such case')
  })
})
