import { basename } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import type { LoadFailureClass, LoadPlan } from '../engine.ts'
import { describeExit, type WorkerExit } from './worker-exit.ts'

/** Why a server ended before its model was ready, as its engine reads it. */
export interface StartFailure {
  /** As people know it. */
  program: string
  failure: LoadFailureClass
  /** The line of its output that tells most. */
  complaint: string | undefined
  /** A sentence. */
  whatNow: string
}

/** The error of a load whose server ended before its model was ready (R11): how it ended, what it said, what to do. */
export function serverNotStarted(plan: LoadPlan, exit: WorkerExit, of: StartFailure): ModelyardError {
  const { program, failure, complaint, whatNow } = of
  const { code, signal, logTail } = exit
  const model = `Model "${plan.model}" (${basename(plan.facts.path ?? '')})`
  const saying = complaint === undefined ? '' : `, saying: ${complaint}`
  return new ModelyardError(
    'model_load_failed',
    `${model} could not be loaded: its ${program} ${describeExit(exit)}${saying}. ${whatNow}`,
    { details: { failure, exitCode: code, signal, logTail } },
  )
}
