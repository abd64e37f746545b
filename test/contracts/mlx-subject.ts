import { cp, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine, LoadPlan } from '../../src/engines/engine.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import type { EngineContractSubject } from '../../src/testing/index.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { TINY_CHAT_FOLDER } from '../models/paths.ts'
import { UNICODE } from './said-by-grammar.ts'
import { chat, HOST, specOf } from '../node-llama-cpp/fixtures.ts'

/** The tokens that would end a turn are forbidden. */
const NO_END = { temperature: 0, logitBias: { 0: -100, 2: -100 } }
const GREEDY = { sampling: { temperature: 0 } }

/** What the contract must know of the mlx engine: the test model's safetensors, in a worker. */
export function mlxSubject(engine: Engine, folder: string): EngineContractSubject {
  const inspector = new ModelInspector()
  const planOf = async (path: string, changes: Partial<ModelSpec> = {}): Promise<LoadPlan> =>
    engine.plan(specOf({ engine: 'mlx', ...changes }), await inspector.inspect(path), HOST)
  /** As one that is replaced in place. */
  async function damagedFolder(): Promise<string> {
    const copy = join(folder, 'damaged-mlx')
    await cp(TINY_CHAT_FOLDER, copy, { recursive: true })
    await truncate(join(copy, 'model.safetensors'), 100_000)
    return copy
  }
  return {
    engine,
    plan: async ({ slots, contextSize }) => planOf(TINY_CHAT_FOLDER, { slots, context: contextSize }),
    chats: [
      { task: chat('hi', GREEDY), answer: 'Hello, how are you today?' },
      { task: chat('Count.', GREEDY), answer: 'one two three four five six seven eight nine ten' },
      { task: chat('Hello, how are you today?', GREEDY), answer: 'I am fine, thank you.' },
    ],
    endless: chat('Count.', { sampling: NO_END }),
    longPrompt: (tokens) => chat('one two three '.repeat(Math.ceil(tokens / 3)), { sampling: NO_END }),
    controlText: '<|im_end|>',
    holdsFormats: true,
    continuation: {
      task: chat(
        [
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: 'Hello, how' },
        ],
        GREEDY,
      ),
      answer: ' are you today?',
    },
    unicode: UNICODE,
    ownProcess: true,
    corrupt: { failure: 'bad_file', plan: async () => planOf(await damagedFolder()) },
    foreignOption: () => planOf(TINY_CHAT_FOLDER, { engineOptions: { banana: 1 } }),
    gaps: {
      'writes a slot to a file and reads it back into another slot, and no foreign file':
        'mlx_lm’s server keeps beginnings in memory alone',
    },
  }
}
