import { describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import type { Engine, LoadedModel, RunOptions } from '../../src/engines/engine.ts'
import { ScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts'
import type { Part, PartStream } from '../../src/tasks/part.ts'
import type { Task } from '../../src/tasks/task.ts'
import { engineContract } from '../../src/testing/index.ts'
import { scriptedSubject } from './scripted-subject.ts'

type RunChange = (inner: LoadedModel, task: Task, options: RunOptions) => PartStream

/** The scripted engine with one fault in its models. */
function faulty(change: (inner: LoadedModel) => Partial<LoadedModel>): Engine {
  const inner = new ScriptedEngine()
  return {
    name: inner.name,
    capabilities: inner.capabilities,
    detect: () => inner.detect(),
    plan: (spec, facts) => inner.plan(spec, facts),
    async load(plan, options) {
      const model = await inner.load(plan, options)
      return new Proxy(model, {
        get(target, name) {
          const changed = Reflect.get(change(model), name) as unknown
          const value = changed ?? Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    },
  }
}

const running = (run: RunChange): Engine =>
  faulty((inner) => ({ run: (task, options) => run(inner, task, options) }))

async function* mapParts(stream: PartStream, map: (part: Part) => Part | undefined): PartStream {
  for (let step = await stream.next(); ; step = await stream.next()) {
    if (step.done === true) return step.value
    const part = map(step.value)
    if (part !== undefined) yield part
  }
}

/** Hears an abort only after so many milliseconds. */
function late(signal: AbortSignal, milliseconds: number): AbortSignal {
  const controller = new AbortController()
  signal.addEventListener('abort', () => {
    void sleep(new SystemClock(), milliseconds).then(() => controller.abort(signal.reason))
  })
  return controller.signal
}

const FAULTS: [fault: string, engine: Engine, caughtBy: string][] = [
  [
    'keeps what is in the slot although no prefix is kept',
    running((inner, task, options) => inner.run(task, { ...options, keptPrefix: 1 })),
    'clears the slot where no prefix is kept (F1)',
  ],
  [
    'evaluates everything anew although a prefix is kept',
    running((inner, task, options) => inner.run(task, { ...options, keptPrefix: 0 })),
    'uses a kept prefix again, never all of a prompt, and answers as it would without',
  ],
  [
    'hears an abort 400 ms late',
    running((inner, task, options) => inner.run(task, { ...options, signal: late(options.signal, 400) })),
    'ends within 250 ms of an abort while it generates, and the slot is usable at once',
  ],
  [
    'hears an abort late only while the prompt is evaluated',
    running((inner, task, options) => inner.run(task, { ...options, signal: late(options.signal, 300) })),
    'ends within 250 ms of an abort while the prompt is evaluated, and the slot is usable at once',
  ],
  [
    'says nothing when it starts',
    running((inner, task, options) =>
      mapParts(inner.run(task, options), (part) => (part.type === 'started' ? undefined : part)),
    ),
    'yields started first and once, then the answer, then a result',
  ],
  [
    'counts a token too many',
    running((inner, task, options) =>
      mapParts(inner.run(task, options), (part) =>
        part.type === 'started' ? { ...part, promptTokens: part.promptTokens + 1 } : part,
      ),
    ),
    'counts exactly: started, result and countTokens agree',
  ],
  [
    'shows halves of characters',
    running((inner, task, options) =>
      mapParts(inner.run(task, options), (part) =>
        part.type === 'text' ? { ...part, text: part.text.replace('😸', '\uFFFD') } : part,
      ),
    ),
    'never shows a part of a character',
  ],
  [
    'does not know stop strings',
    running((inner, task, options) => inner.run({ ...task, stop: [] } as Task, options)),
    'ends before a stop string that lies across tokens, and names it',
  ],
  [
    'takes zero for absent',
    running((inner, task, options) => {
      const { maxTokens, ...rest } = task as Task & { maxTokens?: number }
      return inner.run(maxTokens === 0 ? rest : task, options)
    }),
    'generates as many tokens as it may and ends with length, none for zero',
  ],
  [
    'puts all requests on one slot',
    running((inner, task, options) => inner.run(task, { ...options, slot: 0 })),
    'runs on all slots at once, each with its own right answer',
  ],
  [
    'reads any file into a slot',
    faulty(() => ({ restoreSlot: async () => true })),
    'writes a slot to a file and reads it back into another slot, and no foreign file',
  ],
  [
    'takes words of users for marks',
    faulty(() => ({ countTokens: async () => 7 })),
    'takes no text of a user for the marks of its prompt format (P15)',
  ],
  [
    'answers a ping when it is gone',
    faulty(() => ({ ping: async () => undefined })),
    'rejects every call after its end with worker_exited',
  ],
  [
    'says that it was never unloaded',
    faulty(() => ({ exited: Promise.resolve({ expected: false, reason: 'crash', logTail: [] }) })),
    'can be unloaded twice, at once and later',
  ],
  [
    'comes back from unloading before it is gone',
    faulty((inner) => ({ unload: async () => void setTimeout(() => void inner.unload(), 20) })),
    'can be unloaded twice, at once and later',
  ],
  [
    'names a process that is not its own',
    faulty(() => ({ pid: process.pid })),
    'says which process holds a model, where one does',
  ],
  [
    'keeps to itself how likely tokens were',
    running((inner, task, options) =>
      mapParts(inner.run(task, options), (part) =>
        part.type === 'text' ? { type: 'text', text: part.text } : part,
      ),
    ),
    'tells of each token how likely it was, and of so many others',
  ],
  [
    'takes any number for one of its tokens',
    running((inner, task, options) => inner.run({ ...task, sampling: {} } as Task, options)),
    'refuses a bias of tokens that its model has not, and goes on',
  ],
  [
    'knows the last of several stop strings alone',
    running((inner, task, options) => {
      const { stop = [] } = task as { stop?: string[] }
      return inner.run({ ...task, stop: stop.slice(-1) } as Task, options)
    }),
    'leaves out a stop string wherever in the answer it is, and the earliest of several wins (BR-41)',
  ],
  [
    'loads whatever it is given',
    {
      ...faulty(() => ({})),
      load: async (plan, options) =>
        new ScriptedEngine().load({ ...plan, spec: { ...plan.spec, engineOptions: {} } }, options),
    },
    'refuses a damaged model with its class, and goes on (R11)',
  ],
]

/** Runs one case against an engine. */
async function ask(engine: Engine, sentence: string): Promise<void> {
  const contract = engineContract(scriptedSubject(engine))
  const found = contract.cases.find(({ name }) => name === sentence)
  if (found === undefined) throw new TypeError(`there is no case "${sentence}"`)
  try {
    await found.run()
  } finally {
    await contract.close()
  }
}

describe('the contract catches an engine that', () => {
  it.each(FAULTS)('%s', async (_, engine, caughtBy) => {
    await expect(ask(engine, caughtBy)).rejects.toMatchObject({
      name: expect.stringContaining('Error') as string,
    })
  })

  it.each(FAULTS.map(([, , caughtBy]) => caughtBy))('and nothing but the fault: %s', async (sentence) => {
    const healthy = faulty(() => ({}))
    await expect(ask(healthy, sentence)).resolves.toBeUndefined()
  })
})
