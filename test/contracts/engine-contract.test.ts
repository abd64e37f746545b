import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { LlamaServerEngine } from '../../src/engines/llama-server/llama-server-engine.ts'
import { NodeLlamaCppEngine } from '../../src/engines/node-llama-cpp/node-llama-cpp-engine.ts'
import { MlxEngine } from '../../src/engines/mlx/mlx-engine.ts'
import { ScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts'
import { UpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts'
import { WorkerEngine } from '../../src/engines/worker/worker-engine.ts'
import { engineContract, type EngineContractSubject } from '../../src/testing/index.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, fetched, removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { chat, embedding, factsOf, HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { workerEntry } from '../worker/worker-fixtures.ts'
import { mlxSubject } from './mlx-subject.ts'
import { scriptedSubject } from './scripted-subject.ts'
import { openRemote, upstreamSubject } from './upstream-subject.ts'

const clock = new SystemClock()

function inWorker(inner: Engine, engineOptions: Record<string, unknown> = {}): Engine {
  return new WorkerEngine({ engine: inner.name, inner, clock, entry: workerEntry(), engineOptions })
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

function llamaSubject(engine: Engine): EngineContractSubject {
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
    gaps: {
      'never shows a part of a character': 'tiny-chat says none; test/node-llama-cpp has other models',
    },
    holdsFormats: true,
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
const llamaServer = new LlamaServerEngine({ enginesDirectory: ENGINES_DIRECTORY, clock })
const { available: hasServer } = await llamaServer.detect()

/** `runs` is false where the engine's package is not installed. */
const mlx = new MlxEngine({ enginesDirectory: ENGINES_DIRECTORY })
const { available: hasMlx } = await mlx.detect()

const SUBJECTS: { name: string; runs: boolean; subject: EngineContractSubject }[] = [
  { name: 'mlx', runs: hasMlx, subject: mlxSubject(mlx) },
  { name: 'scripted, in-process', runs: true, subject: scriptedSubject(new ScriptedEngine()) },
  { name: 'scripted, in a worker', runs: true, subject: scriptedSubject(inWorker(new ScriptedEngine())) },
  { name: 'node-llama-cpp, in-process', runs: installed, subject: llamaSubject(llama) },
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

describe('the contract itself', () => {
  it('refuses gaps that name no case, so that a renamed case is not skipped for ever', () => {
    const subject = { ...scriptedSubject(new ScriptedEngine()), gaps: { 'no such case': 'x' } }
    expect(() => engineContract(subject)).toThrow('no such case')
  })
})
