import type { StopSignal } from '../base/cancellation.ts'
import type { Clock } from '../base/clock.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { AcquireRequest, Lease } from '../pool/lease.ts'
import type { CrashRecord } from './crash-record.ts'
import type { LiveRuns } from './live-runs.ts'
import type { LoadWish } from './load-wish.ts'
import type { SlowReaderRule } from './part-buffer.ts'
import type { PreparedModel } from './prepared-model.ts'
import type { RunLog } from './run-log.ts'

/** Everything a run needs of the yard. */
export interface RunSurroundings {
  clock: Clock
  bus: EventBus
  log: RunLog
  crashes: CrashRecord
  live: LiveRuns
  prepare(model: string, signal: StopSignal, wish?: LoadWish): PreparedModel | Promise<PreparedModel>
  acquire(request: AcquireRequest): Promise<Lease>
  slowReader: { capacity: number; rule: SlowReaderRule }
}
