import type { ModelyardError } from '../../base/errors.ts'
import type { LoadFailureClass, LoadPlan } from '../engine.ts'
import { classifyLog, lastComplaint } from '../llama-cpp/load-failure.ts'
import { serverNotStarted } from '../supervision/start-failure.ts'
import { classifyExit, type WorkerExit } from '../supervision/worker-exit.ts'

/** What only this server says, and before it looks at the model. */
const SIGNS: readonly [LoadFailureClass, RegExp][] = [
  ['port', /couldn'?t bind|failed to bind|address already in use|EADDRINUSE/i],
  ['bad_option', /(unknown|invalid|unrecognized) (argument|option)|error while handling argument|usage:/i],
  ['bad_file', /mmproj|projector|clip_init/i],
]

const WHAT_NOW: Record<LoadFailureClass, string> = {
  out_of_memory: 'Use a smaller context, fewer slots or a smaller model.',
  bad_file: 'Fetch the file again, or choose another.',
  bad_option:
    "One of its options does not suit this llama-server; look at the model's options, or install another version.",
  missing_engine: 'Install it: modelyard engines install llama-server.',
  port: 'Something else has the address; try again.',
  timeout: 'Try again; the log tells how far it came.',
  crash: 'The log tells more; the file may be damaged, or the program built for another processor.',
  aborted: 'It was given up.',
}

/** The error of a load whose server ended before its model was ready, judged by how it ended and by its last words (R11). */
export function startFailure(plan: LoadPlan, exit: WorkerExit): ModelyardError {
  const failure = classify(exit)
  const complaint = lastComplaint(exit.logTail)
  return serverNotStarted(plan, exit, {
    program: 'llama-server',
    failure,
    complaint,
    whatNow: WHAT_NOW[failure],
  })
}

function classify(exit: WorkerExit): LoadFailureClass {
  const byExit = classifyExit(exit)
  if (byExit !== 'crash' || exit.signal !== null) return byExit
  const log = exit.logTail.join('\n')
  return SIGNS.find(([, sign]) => sign.test(log))?.[0] ?? classifyLog(exit.logTail) ?? 'crash'
}
