import type { Engine, LoadPlan } from '../../src/engines/engine.ts'
import type { ScriptEntry } from '../../src/engines/scripted/scripted-options.ts'
import type { EngineContractSubject } from '../../src/testing/index.ts'
import { chat, embedding, HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { planFor } from '../worker/worker-fixtures.ts'

export const SCRIPT: ScriptEntry[] = [
  { match: '^hi$', text: ['Hel', 'lo, ', 'how', ' are', ' you', ' today?'] },
  { match: '^Count', text: 'one two three four five six seven' },
  { match: '^Who', text: ['I am', ' a ', 'script.'] },
  { match: '^smile', parts: [{ hex: 'F09F' }, { hex: '98B8' }, ' and ', { hex: 'E4BD' }, { hex: 'A0' }] },
  { match: '^for ever', text: ['on ', 'and '], repeat: 5000, delay: 2 },
  { match: '^long', text: 'short', prefill: 2000 },
  { after: 'assistant', text: [' to the', ' end.'] },
  { text: 'What?' },
]

async function scriptedPlan(
  engine: Engine,
  size: { slots: number; contextSize: number },
  more: Record<string, unknown> = {},
): Promise<LoadPlan> {
  const { facts } = planFor()
  const capabilities = { tasks: ['chat', 'completion'] }
  const engineOptions = { script: SCRIPT, capabilities, loadTime: 40, ...more }
  return engine.plan(
    specOf({ engine: 'scripted', slots: size.slots, context: size.contextSize, engineOptions }),
    facts,
    HOST,
  )
}

const SMALL = { slots: 1, contextSize: 512 }
const DAMAGED = { failLoad: { class: 'bad_file', message: 'It is no model.' } }

/** What the contract must know of the scripted engine, wherever it runs. */
export function scriptedSubject(
  engine: Engine,
  { ownProcess = false }: { ownProcess?: boolean } = {},
): EngineContractSubject {
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
    corrupt: { failure: 'bad_file', plan: () => scriptedPlan(engine, SMALL, DAMAGED) },
    foreignOption: () => scriptedPlan(engine, SMALL, { banana: 1 }),
    ...(ownProcess && { ownProcess }),
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
