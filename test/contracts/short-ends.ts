import type { WorkerDeadlines } from '../../src/engines/supervision/worker-deadlines.ts'

/** Of a process that stands still, the contracts ask that it is ended in the end: by default after five seconds, in which nothing else happens. */
export const SHORT_ENDS: Partial<WorkerDeadlines> = { unload: 1000, terminate: 500 }
