import { basename } from 'node:path'
import type { ModelyardError } from '../../base/errors.ts'
import type { LoadFailureClass, LoadPlan } from '../engine.ts'
import { classifyExit, describeExit, endedBeforeReady, type WorkerExit } from './worker-exit.ts'

type CommonEnd = 'port' | 'timeout' | 'crash' | 'aborted'

/** What to do about ends that are the same whatever the program. */
const WHAT_NOW: Record<CommonEnd, string> = {
  port: 'Something else took its port; try again.',
  timeout: 'Try again; the log tells how far it came.',
  crash: 'The log tells more; the file may be damaged, or the program built for another processor.',
  aborted: 'It was given up.',
}

/** Words of a log, and what they mean; the surest first. */
export type LogSigns = readonly (readonly [failure: LoadFailureClass, sign: RegExp])[]

/** How an engine reads the end of its server. */
export interface ServerWords {
  /** As people know it. */
  program: string
  /** Why one ended that nobody ended and no signal did; undefined: its end and its log do not say. */
  failureIn: (exit: WorkerExit) => LoadFailureClass | undefined
  /** The line of its output that tells most. */
  complaintIn: (logTail: readonly string[]) => string | undefined
  /** What to do, in a sentence. */
  whatNow: Record<Exclude<LoadFailureClass, CommonEnd>, string>
}

/** The error of a load whose server ended before its model was ready (R11): how it ended, what it said, what to do. */
export function serverNotStarted(plan: LoadPlan, exit: WorkerExit, words: ServerWords): ModelyardError {
  const failure = classify(exit, words)
  const complaint = words.complaintIn(exit.logTail)
  const model = `Model "${plan.model}" (${basename(plan.facts.path ?? '')})`
  const saying = complaint === undefined ? '' : `, saying: ${complaint}`
  const whatNow = { ...WHAT_NOW, ...words.whatNow }[failure]
  const message = `${model} could not be loaded: its ${words.program} ${describeExit(exit)}${saying}. ${whatNow}`
  return endedBeforeReady(message, failure, exit)
}

function classify(exit: WorkerExit, { failureIn }: ServerWords): LoadFailureClass {
  const byExit = classifyExit(exit)
  if (byExit !== 'crash' || exit.signal !== null) return byExit
  return failureIn(exit) ?? 'crash'
}

export function firstSign(signs: LogSigns, logTail: readonly string[]): LoadFailureClass | undefined {
  const log = logTail.join('\n')
  return signs.find(([, sign]) => sign.test(log))?.[0]
}
