import type { ModelyardError } from '../../base/errors.ts'
import type { LoadPlan } from '../engine.ts'
import { firstSign, serverNotStarted, type LogSigns, type ServerWords } from '../supervision/start-failure.ts'
import type { WorkerExit } from '../supervision/worker-exit.ts'
import { complaintsIn } from './log-line.ts'

/** What the program's last words mean. Source: `new_sd_ctx`, `ModelLoader` and `parse_options` of stable-diffusion.cpp. */
const SIGNS: LogSigns = [
  ['bad_option', /error: (unknown argument|invalid parameter|invalid weight format|the following arguments)/],
  ['out_of_memory', /alloc\w* .*(failed|buffer)|failed to allocate|out of memory/i],
  [
    'bad_file',
    /sd version from file failed|model loader|not in model file|wrong shape|new_sd_ctx_t failed|loading .* failed/,
  ],
]

const WORDS: ServerWords = {
  program: 'sd-server',
  // It does not look at whether it could listen: it says that it does, and ends as if all were well.
  failureIn: ({ code, logTail }) => (code === 0 ? 'port' : firstSign(SIGNS, logTail)),
  complaintIn: (logTail) => complaintsIn(logTail)[0],
  whatNow: {
    out_of_memory: 'Use a smaller or more quantised model, or a smaller largestSize.',
    bad_file:
      'The file may be damaged, or hold the diffusion model alone (diffusionOnly: true, with vae and text encoders), or need a newer sd-server.',
    bad_option:
      'One of its options does not suit this sd-server; look at the model’s options, or use a newer build.',
    missing_engine: 'Put sd-server on PATH, or name it in the option "binary".',
  },
}

/** The error of a load whose server ended before it answered, judged by how it ended and by its last words (R11). */
export function sdStartFailure(plan: LoadPlan, exit: WorkerExit): ModelyardError {
  return serverNotStarted(plan, exit, WORDS)
}
