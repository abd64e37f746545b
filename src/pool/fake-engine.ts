import type { StopSignal } from '../base/cancellation.ts'
import { ManualClock } from '../base/clock.ts'
import type { ExitReport, LoadedModel, LoadOptions, LoadPlan, RunOptions } from '../engines/engine.ts'
import { EventBus } from '../events/event-bus.ts'
import type { YardEvent } from '../events/event-map.ts'
import type { HostReading, MeasuredFootprint } from '../host/memory.ts'
import type { PartStream } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import type { PoolLimits } from './limits.ts'
import { Pool, type PoolOptions } from './pool.ts'
import { ROOMY } from './simulation/scenario.ts'
import { poolModelOf, type SimulatedModel } from './simulation/simulated-model.ts'

/** A loaded model for tests of the shell: does nothing by itself, remembers what it was asked. */
export class FakeModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly pid = 4711
  readonly exited: Promise<ExitReport>
  readonly runs: { task: Task; options: RunOptions }[] = []
  unloads = 0
  /** What it was told of others that compute. */
  readonly alone: boolean[] = []
  holds: MeasuredFootprint = {}
  warmUpError: Error | undefined
  /** When set, an unload does not end by itself. */
  clings = false
  #exit: (report: ExitReport) => void = () => undefined

  constructor(plan: LoadPlan) {
    this.plan = plan
    this.exited = new Promise((resolve) => {
      this.#exit = resolve
    })
  }

  run(task: Task, options: RunOptions): PartStream {
    this.runs.push({ task, options })
    return endless(options.signal)
  }

  countTokens(): Promise<number> {
    return Promise.resolve(1)
  }

  async warmUp(): Promise<void> {
    await Promise.resolve()
    if (this.warmUpError !== undefined) throw this.warmUpError
  }

  shareCores(isAlone: boolean): void {
    this.alone.push(isAlone)
  }

  memory(): Promise<MeasuredFootprint> {
    return Promise.resolve(this.holds)
  }

  ping(): Promise<void> {
    return Promise.resolve()
  }

  async unload(): Promise<void> {
    this.unloads++
    if (!this.clings) this.exit({ expected: true, reason: 'unloaded', logTail: [] })
    await this.exited
  }

  exit(report: ExitReport): void {
    this.#exit(report)
  }

  crash(): void {
    this.exit({ expected: false, reason: 'signal SIGKILL', logTail: ['last words'] })
  }
}

/** A run that says nothing and ends when it is told to. */
async function* endless(signal: StopSignal): PartStream {
  yield { type: 'text', text: '…' }
  await new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  throw new Error('a run cannot come to this')
}

/** One load on its way. */
export interface PendingLoad {
  readonly plan: LoadPlan
  readonly options: LoadOptions
  finish(): FakeModel
  fail(error: Error): void
}

/** Loads when told to, or at once. */
export class FakeEngine {
  readonly pending: PendingLoad[] = []
  readonly models: FakeModel[] = []
  readonly #isAutomatic: boolean

  constructor(isAutomatic: boolean) {
    this.#isAutomatic = isAutomatic
  }

  readonly load = (plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> =>
    new Promise((resolve, reject) => {
      const finish = (): FakeModel => {
        const model = new FakeModel(plan)
        this.models.push(model)
        resolve(model)
        return model
      }
      this.pending.push({ plan, options, finish, fail: reject })
      options.signal.addEventListener('abort', () => reject(options.signal.reason as Error), { once: true })
      if (this.#isAutomatic) finish()
    })
}

export interface PoolFixture {
  readonly pool: Pool
  readonly clock: ManualClock
  readonly engine: FakeEngine
  readonly events: YardEvent[]
  /** What the probe says from now on. */
  reading: HostReading
}

/** A pool on a clock that stands still, with 100 bytes of budget. `manual`: loads end when the test says so. */
export function newPool(
  options: Partial<PoolOptions> & { roomFor?: Partial<PoolLimits>; manual?: boolean } = {},
): PoolFixture {
  const { roomFor, manual = false, ...rest } = options
  const clock = new ManualClock(1000)
  const bus = new EventBus(() => clock.wallTime())
  const engine = new FakeEngine(!manual)
  const events: YardEvent[] = []
  bus.subscribe((event) => events.push(event))
  const fixture = {
    clock,
    engine,
    events,
    reading: { ram: { total: 2000, available: 1000, source: 'test' } },
  }
  const pool = new Pool({
    clock,
    bus,
    limits: { ...ROOMY, ...roomFor },
    probe: { read: () => fixture.reading },
    load: engine.load,
    ...rest,
  })
  return Object.assign(fixture, { pool })
}

/** Makes simulated models known to the pool. */
export function declareAll(fixture: PoolFixture, ...models: SimulatedModel[]): PoolFixture {
  for (const model of models) fixture.pool.declare(poolModelOf(model))
  return fixture
}

/** Lets everything happen that needs no time. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
