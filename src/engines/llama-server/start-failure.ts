import type { ModelyardError } from '../../base/errors.ts'
import type { LoadPlan } from '../engine.ts'
import { classifyLog, lastComplaint } from '../llama-cpp/load-failure.ts'
import { firstSign, serverNotStarted, type LogSigns, type ServerWords } from '../supervision/start-failure.ts'
import type { WorkerExit } from '../supervision/worker-exit.ts'

/** What only this server says, and before it looks at the model. */
const SIGNS: LogSigns = [
  ['port', /couldn'?t bind|failed to bind|address already in use|EADDRINUSE/i],
  ['bad_option', /(unknown|invalid|unrecognized) (argument|option)|error while handling argument|usage:/i],
  ['bad_file', /mmproj|projector|clip_init/i],
]

const WORDS: ServerWords = {
  program: 'llama-server',
  failureIn: ({ logTail }) => firstSign(SIGNS, logTail) ?? classifyLog(logTail),
  complaintIn: lastComplaint,
  whatNow: {
    out_of_memory: 'Use a smaller context, fewer slots or a smaller model.',
    bad_file: 'Fetch the file again, or choose another.',
    bad_option:
      "One of its options does not suit this llama-server; look at the model's options, or install another version.",
    missing_engine: 'Install it: modelyard engines install llama-server.',
  },
}

/** The error of a load whose server ended before its model was ready, judged by how it ended and by its last words (R11). */
export function startFailure(plan: LoadPlan, exit: WorkerExit): ModelyardError {
  return serverNotStarted(plan, exit, WORDS)
}
