import { describe, expect, it } from 'vitest'
import type { ModelInput } from '../../src/config/configuration-input.ts'
import type { Engine } from '../../src/engines/engine.ts'
import type { WorkerDeadlines } from '../../src/engines/supervision/worker-deadlines.ts'
import type { YardEvent } from '../../src/events/event-map.ts'
import { groupMembers } from '../../src/host/process-tree.ts'
import type { Yard } from '../../src/yard.ts'
import { heldMemory } from '../held-memory.ts'
import { createWorkerEngine, planFor } from '../worker/worker-fixtures.ts'
import { ownYards, until } from './harness.ts'

const MIB = 1024 ** 2

/** What a model of the obedient engine promises to need; its process really takes some 50 MiB. */
const PROMISE = 100 * MIB

/** test/programs/obedient-engine.mjs in workers, as a model of a yard: it does what its options and prompts tell it. */
function obedientEngine(deadlines: Partial<WorkerDeadlines>): Engine {
  const worker = createWorkerEngine({ deadlines })
  return Object.assign(worker, {
    plan: (spec: Parameters<Engine['plan']>[0]) => ({
      ...planFor({}, spec.id),
      key: `${spec.id} ${JSON.stringify(spec.engineOptions)}`,
      spec,
      slots: spec.slots,
      footprint: { ram: { weights: 0, context: 0, compute: 0, base: PROMISE } },
    }),
  })
}

/** An event as one line; numbers that differ from run to run are left out. */
function line({ name, data }: YardEvent): string {
  const { instance, model, failure, outcome, code } = data as Record<string, string | undefined>
  const detail = failure ?? outcome ?? code
  return [name, instance ?? model, detail].filter((part) => part !== undefined).join(' ')
}

/** A yard of obedient models whose events are written down. */
class Stage {
  readonly yard: Yard
  readonly events: YardEvent[] = []
  readonly pids = new Set<number>()

  constructor(yard: Yard) {
    this.yard = yard
    yard.subscribe((event) => {
      this.events.push(event)
      for (const { pid } of yard.state().instances) if (pid !== undefined) this.pids.add(pid)
    })
  }

  /** @returns the text, or the error's code */
  async ask(model: string, order: Record<string, unknown>): Promise<string> {
    const answer = this.yard.complete({ model, prompt: JSON.stringify(order) }).text()
    return answer.catch((error: unknown) => (error as { code: string }).code)
  }

  /** What happened since the last look. */
  story(): string[] {
    return this.events
      .splice(0)
      .filter(({ name }) => name !== 'load-progressed')
      .map(line)
  }

  /** What is there when no instance is any more: booked bytes, tickets, runs, and processes of any worker that ever was. */
  async remains(): Promise<unknown[]> {
    await until(() => this.yard.state().instances.length === 0)
    const { memory, queue, runs } = this.yard.state()
    return [memory.ram?.booked, queue.length, runs.active, [...this.pids].flatMap((pid) => groupMembers(pid))]
  }
}

const NOTHING = [0, 0, 0, []]

const LOADED = (instance: string): string[] => [
  `load-started ${instance}`,
  `load-finished ${instance}`,
  `instance-ready ${instance}`,
]

const RAN = (instance: string, outcome: string): string[] => [
  `lease-granted ${instance}`,
  `lease-released ${instance}`,
  `run-finished ${instance.replace(/#.*/, '')} ${outcome}`,
]

const DIED = (instance: string): string[] => [
  `lease-granted ${instance}`,
  `lease-released ${instance}`,
  `instance-exited ${instance}`,
  `unload-finished ${instance}`,
]

const UNLOADED = (instance: string): string[] => [`unload-started ${instance}`, `unload-finished ${instance}`]

// A worker answers through a channel of its own, not on a port: "answers on a foreign port" cannot happen to it (F22).
describe('faults of real processes: the events in their order, no process left, all bytes back', () => {
  const { open } = ownYards()

  async function stage(
    models: Record<string, object>,
    { budget = 8 * PROMISE, deadlines = {} }: { budget?: number; deadlines?: Partial<WorkerDeadlines> } = {},
  ): Promise<Stage> {
    const obedient = (options: object): ModelInput => ({
      engine: 'obedient',
      slots: 2,
      keepAlive: -1,
      ...options,
    })
    const yard = await open({
      engines: [obedientEngine(deadlines)],
      memory: { budget },
      models: Object.fromEntries(Object.entries(models).map(([id, options]) => [id, obedient(options)])),
    })
    return new Stage(yard)
  }

  it('a worker that ignores SIGTERM and hangs in its unload is killed with what it had started (BR-18)', async () => {
    const faults = await stage(
      { m: { ignoreSigterm: true, unloadHangs: true, grandchild: true } },
      { deadlines: { unload: 200, terminate: 200 } },
    )
    expect(await faults.ask('m', { parts: 1 })).toBe('0 ')
    const unloading = faults.yard.unloadModel('m')
    // A request during the stop waits and is served by a fresh worker.
    expect(await faults.ask('m', { parts: 2 })).toBe('0 1 ')
    await unloading
    await faults.yard.unloadModel('m')
    expect(faults.story()).toEqual([
      'ticket-queued m',
      ...LOADED('m#1'),
      ...RAN('m#1', 'stop'),
      'unload-started m#1',
      'ticket-queued m',
      'unload-finished m#1',
      ...LOADED('m#2'),
      ...RAN('m#2', 'stop'),
      ...UNLOADED('m#2'),
    ])
    expect(await faults.remains()).toEqual(NOTHING)
  })

  it.each([
    ['crashes', { killedBy: 'SIGSEGV', say: 'assertion failed' }, 'crash', 'assertion failed'],
    ['exits 137', { exitCode: 137 }, 'out_of_memory', ''],
    ['is killed', { killedBy: 'SIGKILL' }, 'out_of_memory', ''],
    ['floods stderr and crashes', { floods: 30e6, exitCode: 1 }, 'crash', 'xxx'],
  ] as const)(
    'a worker that %s while loading: the cause at once, then the time of the next try (R11, F5)',
    async (...[, options, failure, said]) => {
      const faults = await stage({ m: options })
      expect(await faults.ask('m', { parts: 1 })).toBe('model_load_failed')
      expect(await faults.ask('m', { parts: 1 })).toBe('model_load_failed')
      const failed = faults.events.find(({ name }) => name === 'load-failed')?.data as { logTail: string[] }
      expect(failed.logTail.join('\n')).toContain(said)
      expect(failed.logTail.join('').length).toBeLessThan(200_000)
      const refused = ['ticket-refused m model_load_failed', 'run-finished m model_load_failed']
      expect(faults.story()).toEqual([
        'ticket-queued m',
        'load-started m#1',
        `load-failed m#1 ${failure}`,
        ...refused,
        ...refused,
      ])
      expect(faults.yard.state().models[0]).toMatchObject({
        state: 'failed',
        lastError: { retryIn: expect.any(Number) as number },
      })
      expect(await faults.remains()).toEqual(NOTHING)
    },
  )

  it('a worker that crashes after three tokens: its run ends with the error, the next one is served by another (R11, BR-09)', async () => {
    const faults = await stage({ m: {} })
    expect(await faults.ask('m', { parts: 5, every: 40, dieAt: 3, signal: 'SIGSEGV' })).toBe('worker_exited')
    expect(await faults.ask('m', { parts: 2 })).toBe('0 1 ')
    await faults.yard.unloadModel('m')
    expect(faults.story()).toEqual([
      'ticket-queued m',
      ...LOADED('m#1'),
      ...DIED('m#1'),
      'run-finished m worker_exited',
      'ticket-queued m',
      ...LOADED('m#2'),
      ...RAN('m#2', 'stop'),
      ...UNLOADED('m#2'),
    ])
    expect(await faults.remains()).toEqual(NOTHING)
  })

  it('a worker that exits 137 before its first token, each time: the run is repeated once, then refused (P16)', async () => {
    const faults = await stage({ m: {} })
    expect(await faults.ask('m', { parts: 5, exitAt: 0, exitCode: 137 })).toBe('request_crashes_worker')
    expect(await faults.ask('m', { parts: 1 })).toBe('0 ')
    await faults.yard.unloadModel('m')
    expect(faults.story()).toEqual([
      'ticket-queued m',
      ...LOADED('m#1'),
      ...DIED('m#1'),
      'ticket-queued m',
      ...LOADED('m#2'),
      ...DIED('m#2'),
      'run-finished m request_crashes_worker',
      'ticket-queued m',
      ...LOADED('m#3'),
      ...RAN('m#3', 'stop'),
      ...UNLOADED('m#3'),
    ])
    expect(await faults.remains()).toEqual(NOTHING)
  })

  it.each([
    ['answers pings and makes nothing', { parts: 2, every: 40, hang: true }],
    ['answers nothing', { parts: 3, every: 40, blockAt: 2, block: 600_000 }],
  ])('a worker that accepts a request and %s is replaced (R12)', async (_, order) => {
    const faults = await stage({ m: {} }, { deadlines: { stall: 3000, silence: 3000 } })
    expect(await faults.ask('m', order)).toBe('worker_exited')
    expect(await faults.ask('m', { parts: 1 })).toBe('0 ')
    await faults.yard.unloadModel('m')
    expect(faults.story()).toEqual([
      'ticket-queued m',
      ...LOADED('m#1'),
      ...DIED('m#1'),
      'run-finished m worker_exited',
      'ticket-queued m',
      ...LOADED('m#2'),
      ...RAN('m#2', 'stop'),
      ...UNLOADED('m#2'),
    ])
    expect(await faults.remains()).toEqual(NOTHING)
  })

  it('a worker that holds more than was promised makes an idle one go, and is booked with what it holds from then on (M12)', async () => {
    const faults = await stage({ a: {}, b: { hold: 350 * MIB } }, { budget: 4 * PROMISE })
    expect(await faults.ask('a', { parts: 1 })).toBe('0 ')
    expect(await faults.ask('b', { parts: 1 })).toBe('0 ')
    await until(() => faults.yard.state().instances.length === 1)
    const [b] = faults.yard.state().instances
    expect(b).toMatchObject({ model: 'b', state: 'ready' })
    expect(b?.booked.ram).toBeGreaterThan(350 * MIB)
    await faults.yard.unloadModel('b')
    expect((await faults.yard.plan('b')).bytes.ram).toBeGreaterThan(350 * MIB)
    const story = faults.story()
    expect(story.filter((event) => event.startsWith('unload'))).toEqual([
      ...UNLOADED('a#1'),
      ...UNLOADED('b#2'),
    ])
    expect(story.slice(0, 11)).toEqual([
      'ticket-queued a',
      ...LOADED('a#1'),
      ...RAN('a#1', 'stop'),
      'ticket-queued b',
      ...LOADED('b#2'),
    ])
    expect(await faults.remains()).toEqual(NOTHING)
  })

  it('a worker that alone holds more than the budget goes when it is idle, and its next load is refused with the numbers (R4)', async () => {
    const faults = await stage({ m: { hold: 500 * MIB } }, { budget: 4 * PROMISE })
    expect(await faults.ask('m', { parts: 1 })).toBe('0 ')
    expect(await faults.remains()).toEqual(NOTHING)
    expect(await faults.ask('m', { parts: 1 })).toBe('model_too_large')
    expect(faults.story()).toEqual([
      'ticket-queued m',
      ...LOADED('m#1'),
      ...RAN('m#1', 'stop'),
      ...UNLOADED('m#1'),
      'ticket-refused m model_too_large',
      'run-finished m model_too_large',
    ])
  })

  it('a worker that floods stderr in its run: its answer is whole, and what is kept of the flood is bounded', async () => {
    const faults = await stage({ m: {} })
    const before = heldMemory()
    expect(await faults.ask('m', { floods: 100e6, parts: 3 })).toBe('0 1 2 ')
    expect(heldMemory() - before).toBeLessThan(20e6)
    await faults.yard.unloadModel('m')
    expect(faults.story()).toEqual([
      'ticket-queued m',
      ...LOADED('m#1'),
      ...RAN('m#1', 'stop'),
      ...UNLOADED('m#1'),
    ])
    expect(await faults.remains()).toEqual(NOTHING)
  })

  it('a worker that is slow to free its memory: the next load begins when it is seen back, not before (R8, M9, BR-48)', async () => {
    const faults = await stage({ a: { unloadTakes: 1000 }, b: {} }, { budget: 1.5 * PROMISE })
    expect(await faults.ask('a', { parts: 1 })).toBe('0 ')
    const [pid = 0] = faults.yard.state().instances.map((instance) => instance.pid)
    const remains: number[][] = []
    const stop = faults.yard.subscribe(({ name }) => {
      if (name === 'load-started') remains.push(groupMembers(pid))
    })
    expect(await faults.ask('b', { parts: 1 })).toBe('0 ')
    stop()
    expect(remains).toEqual([[]])
    const released = faults.events.find(({ name }) => name === 'unload-finished')?.data as {
      took: number
      released: number
    }
    expect(released.took).toBeGreaterThan(900)
    expect(released.released).toBeGreaterThan(5 * MIB)
    await faults.yard.unloadModel('b')
    expect(faults.story()).toEqual([
      'ticket-queued a',
      ...LOADED('a#1'),
      ...RAN('a#1', 'stop'),
      'ticket-queued b',
      ...UNLOADED('a#1'),
      ...LOADED('b#2'),
      ...RAN('b#2', 'stop'),
      ...UNLOADED('b#2'),
    ])
    expect(await faults.remains()).toEqual(NOTHING)
  })
})
