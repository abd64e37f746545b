import { createRequire } from 'node:module'
import { join } from 'node:path'
import { SystemClock } from '../../src/base/clock.ts'
import type { Engine, EngineCapabilities, LoadedModel, LoadPlan } from '../../src/engines/engine.ts'
import { NO_CAPABILITIES } from '../../src/engines/engine.ts'
import { WorkerEngine, type WorkerEngineOptions } from '../../src/engines/worker/worker-engine.ts'
import type { CompletionTask } from '../../src/tasks/completion-task.ts'
import type { Part, Result } from '../../src/tasks/part.ts'

export const PROGRAMS: string = join(import.meta.dirname, '../programs')

/** The built worker program; another build of it can be named, so that tests run while `dist/` is not there. */
export function workerEntry(): string {
  return process.env['MODELYARD_TEST_WORKER'] ?? createRequire(import.meta.url).resolve('#worker-main')
}

const CAPABILITIES: EngineCapabilities = { ...NO_CAPABILITIES, tasks: ['completion'] }

/** The server's side of the obedient engine: a name and a plan; nothing is ever loaded with it. */
const inner: Engine = {
  name: 'obedient',
  capabilities: CAPABILITIES,
  detect: () => Promise.resolve({ available: true, version: '1' }),
  plan: (spec) => planFor(spec.engineOptions),
  load: () => Promise.reject(new Error('only the worker loads')),
}

export function createWorkerEngine(options: Partial<WorkerEngineOptions> = {}): WorkerEngine {
  return new WorkerEngine({
    engine: `module:${join(PROGRAMS, 'obedient-engine.mjs')}`,
    inner,
    clock: new SystemClock(),
    ...options,
    entry: options.entry ?? workerEntry(),
  })
}

export function planFor(engineOptions: Record<string, unknown> = {}, model = 'obedient'): LoadPlan {
  return {
    engine: 'obedient',
    model,
    key: 'key',
    contextSize: 1024,
    slots: 4,
    threads: 1,
    footprint: { ram: { weights: 0, context: 0, compute: 0, base: 50e6 } },
    loadBytes: 0,
    capabilities: CAPABILITIES,
    spec: {
      id: model,
      slots: 4,
      minInstances: 0,
      maxInstances: 1,
      keepAlive: 1000,
      pinned: false,
      prepare: 'on-demand',
      isolation: 'worker',
      device: { gpu: false, memoryLock: false },
      aliases: [],
      defaults: {},
      engineOptions,
    },
    facts: { format: 'none', fileSize: 0, contentId: 'none', purpose: 'generation' },
  }
}

export function load(
  engine: Engine,
  options: Record<string, unknown> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<LoadedModel> {
  return engine.load(planFor(options), { signal, onProgress: () => undefined })
}

/** A task whose prompt tells the obedient engine what to do. */
export function order(what: Record<string, unknown>): CompletionTask {
  return { kind: 'completion', prompt: JSON.stringify(what), sampling: {}, stop: [] }
}

/** Runs an order to its end. */
export async function collect(
  model: LoadedModel,
  what: Record<string, unknown>,
  options: { slot?: number; keptPrefix?: number; signal?: AbortSignal } = {},
): Promise<{ parts: Part[]; text: string; result: Result }> {
  const { slot = 0, keptPrefix = 0, signal = new AbortController().signal } = options
  const stream = model.run(order(what), { slot, keptPrefix, signal })
  const parts: Part[] = []
  for (let step = await stream.next(); ; step = await stream.next()) {
    if (step.done === true) {
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      return { parts, text, result: step.value }
    }
    parts.push(step.value)
  }
}
