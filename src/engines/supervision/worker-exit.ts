import { ModelyardError, type ModelyardErrorOptions } from '../../base/errors.ts'
import type { ChildExit } from '../../host/child-process.ts'
import type { LoadFailureClass } from '../engine.ts'

/** How a worker ended, with what the server knows about it. */
export interface WorkerExit extends ChildExit {
  model: string
  pid: number | undefined
  /** Why the server itself ended it; absent when it ended by itself or on request. */
  ended?: string
}

/** Signal and exit-code forms of the same end: 128 + n is how shells and wrappers report signal n. */
const CRASHES: Record<string, number> = {
  SIGILL: 132,
  SIGTRAP: 133,
  SIGABRT: 134,
  SIGBUS: 135,
  SIGFPE: 136,
  SIGSEGV: 139,
}
const MEMORY_WORDS =
  /bad_alloc|out of memory|cannot allocate|failed to allocate|unable to allocate|heap limit/i

/** How it ended in words: `ended by SIGKILL (out of memory, or killed from outside)`, `ended with exit code 3`. */
export function describeExit(exit: WorkerExit): string {
  if (exit.error !== undefined) return `could not be started: ${exit.error.message}`
  if (exit.ended !== undefined) return `was ended by the server: ${exit.ended}`
  if (exit.signal === 'SIGKILL')
    return 'was ended by SIGKILL (the system ran out of memory, or somebody killed it)'
  return exit.signal === null ? `ended with exit code ${exit.code}` : `crashed with ${exit.signal}`
}

/** Why a load failed, judged from the exit alone (R11). */
export function classifyExit(exit: WorkerExit): LoadFailureClass {
  const startFailure = exit.error?.code
  if (startFailure === 'ENOENT' || startFailure === 'EACCES') return 'missing_engine'
  if (startFailure === 'ENOMEM' || startFailure === 'EAGAIN') return 'out_of_memory'
  if (exit.ended !== undefined) return 'timeout'
  if (exit.signal === 'SIGKILL' || exit.code === 137) return 'out_of_memory'
  return MEMORY_WORDS.test(exit.logTail.join('\n')) ? 'out_of_memory' : 'crash'
}

/** True for the signals by which a program ends that broke, and their exit codes. */
function isCrash(exit: ChildExit): boolean {
  return (
    (exit.signal !== null && exit.signal in CRASHES) ||
    (exit.code !== null && Object.values(CRASHES).includes(exit.code))
  )
}

/** What pending and later calls of the model get. */
export function workerExited(exit: WorkerExit): ModelyardError {
  const { model, pid, code, signal, logTail } = exit
  const message = `The worker that held "${model}" (process ${pid ?? 'none'}) ${describeExit(exit)}.`
  const details = { model, pid: pid ?? null, exitCode: code, signal, crash: isCrash(exit), logTail }
  return new ModelyardError('worker_exited', message, { details })
}

const REMEDIES: Partial<Record<LoadFailureClass, string>> = {
  out_of_memory: ' Use a smaller context, fewer slots or a smaller model.',
  crash: ' The last log lines are in the details; the file may be damaged or need a newer engine.',
}

/** The error of a load whose worker ended before it had said anything. */
export function loadEndedByExit(exit: WorkerExit): ModelyardError {
  const failure = classifyExit(exit)
  const message = `"${exit.model}" could not be loaded: its worker ${describeExit(exit)}.${REMEDIES[failure] ?? ''}`
  return endedBeforeReady(message, failure, exit)
}

/** The error of a load that a process did not live through, in whatever words (R11). */
export function endedBeforeReady(
  message: string,
  failure: LoadFailureClass,
  { code, signal, logTail }: WorkerExit,
): ModelyardError {
  const details = { failure, exitCode: code, signal, logTail }
  return new ModelyardError('model_load_failed', message, { details })
}

/** The engine's own load error, with the worker's log lines added; an error of no class is a `crash` of the engine. */
export function loadRefused(error: ModelyardError, exit: WorkerExit): ModelyardError {
  const failure: LoadFailureClass = error.code === 'engine_missing' ? 'missing_engine' : 'crash'
  const details = { failure, ...error.details, logTail: exit.logTail }
  const options: ModelyardErrorOptions =
    error.retryAfter === undefined ? { details } : { details, retryAfter: error.retryAfter }
  const { code } = error
  if (code !== 'internal' && code !== 'engine_failed') return new ModelyardError(code, error.message, options)
  return new ModelyardError(
    'model_load_failed',
    `"${exit.model}" could not be loaded: ${error.message}`,
    options,
  )
}
