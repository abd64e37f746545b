import type { Clock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { RunAction } from '../dialects/dialect.ts'
import { unsupportedFeature } from '../dialects/unsupported-feature.ts'
import type { ModelListing, YardPort } from '../dialects/yard-port.ts'
import type { Run, RunInfo } from '../runs/run.ts'
import type { Result } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import { AnswerWriter } from './answer-writer.ts'
import type { Exchange } from './exchange.ts'
import type { ServerLimits } from './server-options.ts'

export interface RunContext {
  port: YardPort
  clock: Clock
  limits: ServerLimits
}

/** Runs the tasks of a request and sends what comes out. @throws ModelyardError for what fails before the first byte */
export async function answerRun(exchange: Exchange, action: RunAction, context: RunContext): Promise<void> {
  const listing = await context.port.findModel(action.model)
  for (const task of action.tasks) refuseUnsupported(task, listing)
  const { encoder } = action
  const writer = new AnswerWriter(exchange, encoder, context.clock, context.limits.heartbeat)
  const progress = { started: false }
  try {
    for (const [index, task] of action.tasks.entries()) {
      const run = startRun(exchange, action, task, context)
      const result = await forward(exchange, run, action, index, writer, progress)
      writer.write(encoder.end(result, index, run.info))
    }
    writer.end(encoder.finish())
  } catch (error) {
    writer.stop()
    if (exchange.gone) return
    // From the first part on, an error is told inside the stream, whether or not its bytes left yet: one rule for clients.
    if (!encoder.streaming || !(writer.begun || progress.started)) throw error
    const known = exchange.noteError(error)
    writer.end(encoder.fail(known, exchange.statusOf(known)))
  }
}

function refuseUnsupported(task: Task, listing: ModelListing): void {
  if (listing.capabilities === null) return
  const missing = unsupportedFeature(task, listing.capabilities)
  if (missing === undefined) return
  const { param, feature, lacking } = missing
  const details = { param, ...(lacking === 'engine' ? { httpStatus: 501 } : {}) }
  throw new ModelyardError('unsupported', `The model '${listing.id}' does not support ${feature}.`, {
    details,
  })
}

function startRun(exchange: Exchange, action: RunAction, task: Task, context: RunContext): Run {
  const { runTimeout } = context.limits
  return context.port.startRun({
    model: action.model,
    task,
    ...action.options,
    ...(runTimeout === undefined ? {} : { timeout: runTimeout }),
    signal: exchange.signal,
  })
}

/** Sends a run's parts as they come, no faster than the client reads. @returns how the run ended */
async function forward(
  exchange: Exchange,
  run: Run,
  { encoder }: RunAction,
  index: number,
  writer: AnswerWriter,
  progress: { started: boolean },
): Promise<Result> {
  let ended = false
  try {
    for (;;) {
      const next = await run.parts.next()
      if (next.done) {
        ended = true
        return completed(next.value, run.info)
      }
      progress.started = true
      writer.begin(run.info)
      writer.write(encoder.part(next.value, index))
      if (writer.blocked) await writer.drained()
      exchange.signal.throwIfAborted()
    }
  } finally {
    // Harmless when the generator has ended by itself; otherwise it gives the slot back.
    if (!ended) await run.parts.return(undefined as never)
  }
}

/** Over HTTP a run that was cut is an error; only library calls keep what came until then (P13). */
function completed(result: Result | undefined, info: RunInfo): Result {
  if (result === undefined) {
    // A stream without its result is broken, never complete (R12).
    throw new ModelyardError('engine_failed', `The run ${info.id} ended without a result.`)
  }
  if (result.finishReason === 'timeout')
    throw new ModelyardError('timeout', 'The request ran into its time limit.')
  if (result.finishReason === 'abort') throw new ModelyardError('aborted', 'The request was aborted.')
  return result
}
