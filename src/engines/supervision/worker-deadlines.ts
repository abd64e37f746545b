/** Milliseconds after which a worker is taken for broken (R12). */
export interface WorkerDeadlines {
  /** From an abort to the worker's word that the run has ended. */
  abort: number
  /** A worker that was idle is given work and does not answer: its loop has nothing else to do, so that it stands still or hangs. */
  wake: number
  /** A worker that is working does not answer a ping. */
  silence: number
  /** A run goes on, the worker answers, but no token comes and no prefill moves. */
  stall: number
  /** From the order to unload to SIGTERM, and from there to SIGKILL. */
  unload: number
  terminate: number
}

export const WORKER_DEADLINES: WorkerDeadlines = {
  abort: 2000,
  wake: 3000,
  silence: 20_000,
  stall: 300_000,
  unload: 3000,
  terminate: 2000,
}
