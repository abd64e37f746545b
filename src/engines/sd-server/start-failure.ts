import type { ModelyardError } from '../../base/errors.ts'
import type { LoadFailureClass, LoadPlan } from '../engine.ts'
import { serverNotStarted } from '../supervision/start-failure.ts'
import { classifyExit, type WorkerExit } from '../supervision/worker-exit.ts'
import { complaintsIn } from './log-line.ts'

/** What the program's last words mean, the surest first. Source: `new_sd_ctx`, `ModelLoader` and `parse_options` of stable-diffusion.cpp. */
const SIGNS: readonly [LoadFailureClass, RegExp][] = [
  ['bad_option', /error: (unknown argument|invalid parameter|invalid weight format|the following arguments)/],
  ['out_of_memory', /alloc\w* .*(failed|buffer)|failed to allocate|out of memory/i],
  [
    'bad_file',
    /sd version from file failed|model loader|not in model file|wrong shape|new_sd_ctx_t failed|loading .* failed/,
  ],
]

const WHAT_NOW: Record<LoadFailureClass, string> = {
  out_of_memory: 'Use a smaller or more quantised model, or a smaller largestSize.',
  bad_file:
    'The file may be damaged, or hold the diffusion model alone (diffusionOnly: true, with vae and text encoders), or need a newer sd-server.',
  bad_option:
    'One of its options does not suit this sd-server; look at the model’s options, or use a newer build.',
  missing_engine: 'Put sd-server on PATH, or name it in the option "binary".',
  port: 'Something else took its port; try again.',
  timeout: 'Try again; the log tells how far it came.',
  crash: 'The log tells more; the file may be damaged, or the program built for another processor.',
  aborted: 'It was given up.',
}

/** The error of a load whose server ended before it answered, judged by how it ended and by its last words (R11). */
export function sdStartFailure(plan: LoadPlan, exit: WorkerExit): ModelyardError {
  const failure = classify(exit)
  const complaint = complaintsIn(exit.logTail)[0]
  return serverNotStarted(plan, exit, {
    program: 'sd-server',
    failure,
    complaint,
    whatNow: WHAT_NOW[failure],
  })
}

function classify(exit: WorkerExit): LoadFailureClass {
  const byExit = classifyExit(exit)
  if (byExit !== 'crash' || exit.signal !== null) return byExit
  // It does not look at whether it could listen: it says that it does, and ends as if all were well.
  if (exit.code === 0) return 'port'
  const log = exit.logTail.join('\n')
  return SIGNS.find(([, sign]) => sign.test(log))?.[0] ?? 'crash'
}
