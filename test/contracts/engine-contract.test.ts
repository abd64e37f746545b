import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { Engine, LoadPlan } from '../../src/engines/engine.ts'
import { NodeLlamaCppEngine } from '../../src/engines/node-llama-cpp/node-llama-cpp-engine.ts'
import { ScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts'
import type { ScriptEntry } from '../../src/engines/scripted/scripted-options.ts'
import { WorkerEngine } from '../../src/engines/worker/worker-engine.ts'
import { engineContract, type EngineContractSubject } from '../../src/testing/index.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, fetched, removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { chat, embedding, factsOf, HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { planFor, workerEntry } from '../worker/worker-fixtures.ts'

const clock = new SystemClock()

function inWorker(inner: Engine, engineOptions: Record<string, unknown> = {}): Engine {
  return new WorkerEngine({ engine: inner.name, inner, clock, entry: workerEntry(), engineOptions })
}

const SCRIPT: ScriptEntry[] = [
  { match: '^hi$', text: ['Hel', 'lo, ', 'how', ' are', ' you', ' today?'] },
  { match: '^Count', text: 'one two three four five six seven' },
  { match: '^Who', text: ['I am', ' a ', 'script.'] },
  { match: '^smile', parts: [{ hex: 'F09F' }, { hex: '98B8' }, ' and ', { hex: 'E4BD' }, { hex: 'A0' }] },
  { match: '^for ever', text: ['on ', 'and '], repeat: 5000, delay: 2 },
  { match: '^long', text: 'short', prefill: 2000 },
  { after: 'assistant', text: [' to the', ' end.'] },
  { text: 'What?' },
]

async function scriptedPlan(engine: Engine, size: { slots: number; contextSize: number }): Promise<LoadPlan> {
  const { facts } = planFor()
  const engineOptions = { script: SCRIPT, capabilities: { tasks: ['chat', 'completion'] }, loadTime: 40 }
  return engine.plan(
    specOf({ engine: 'scripted', slots: size.slots, context: size.contextSize, engineOptions }),
    facts,
    HOST,
  )
}

function scriptedSubject(engine: Engine): EngineContractSubject {
  return {
    engine,
    plan: (size) => scriptedPlan(engine, size),
    chats: [
      { task: chat('hi'), answer: 'Hello, how are you today?' },
      { task: chat('Count.'), answer: 'one two three four five six seven' },
      { task: chat('Who are you?'), answer: 'I am a script.' },
    ],
    endless: chat('for ever'),
    longPrompt: (tokens) => chat(`long ${'word '.repeat(tokens)}`),
    controlText: '4 1 2',
    unicode: { task: chat('smile'), answer: '😸 and 你' },
    continuation: {
      task: chat([
        { role: 'user', content: 'Tell me.' },
        { role: 'assistant', content: 'From the beginning' },
      ]),
      answer: ' to the end.',
    },
    embedding: {
      plan: () =>
        engine.plan(specOf({ engine: 'scripted', engineOptions: { dimensions: 64 } }), planFor().facts, HOST),
      task: embedding(['one', 'two', 'one', 'three']),
      dimensions: 64,
    },
  }
}

const installed = fetched(join(ENGINES_DIRECTORY, 'node-llama-cpp/node_modules'))
const folder = await temporaryFolder()
afterAll(() => removeFolder(folder))

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

/** `runs` is false where the engine's package is not installed. */
const SUBJECTS: { name: string; runs: boolean; subject: EngineContractSubject }[] = [
  { name: 'scripted, in-process', runs: true, subject: scriptedSubject(new ScriptedEngine()) },
  { name: 'scripted, in a worker', runs: true, subject: scriptedSubject(inWorker(new ScriptedEngine())) },
  { name: 'node-llama-cpp, in-process', runs: installed, subject: llamaSubject(llama) },
  {
    name: 'node-llama-cpp, in a worker',
    runs: installed,
    subject: llamaSubject(inWorker(llama, { enginesDirectory: ENGINES_DIRECTORY })),
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
