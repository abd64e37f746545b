import type { Clock } from '../../base/clock.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { WorkerDeadlines } from './worker-deadlines.ts'

/** What every engine may be told that runs programs of others as servers. */
export interface ServerEngineOptions {
  /** Where running servers are recorded, for `endLeftovers`. Absent = they are not. */
  recordsDirectory?: string
  /** Where their output is kept, one file each. Absent = only the last 40 lines, in errors. */
  logDirectory?: string
  /** Default: the system's clock. */
  clock?: Clock
  deadlines?: Partial<WorkerDeadlines>
  /** What a process holds on devices, where drivers tell. Absent = nobody tells. */
  deviceBytes?: (pid: number) => MeasuredFootprint
}
