import { abortError } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { Deadlines } from '../base/deadlines.ts'
import { ModelyardError } from '../base/errors.ts'
import type { FeatureFields, RunAction } from '../dialects/dialect.ts'
import type { YardPort } from '../dialects/yard-port.ts'
import type { Run } from '../runs/run.ts'
import { StreamReader } from '../runs/run-reader.ts'
import type { Result } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import { AnswerWriter } from './answer-writer.ts'
import type { Exchange } from './exchange.ts'
import type { ServerLimits } from './server-options.ts'

export interface RunContext {
  port: YardPort
  clock: Clock
  limits: ServerLimits
  /** After which streams give a sign of life. */
  silences: Deadlines
}

/** Runs the tasks of a request and sends what comes out. @throws ModelyardError for what fails before the first byte */
export async function answerRun(exchange: Exchange, action: RunAction, context: RunContext): Promise<void> {
  const { encoder } = action
  const writer = new AnswerWriter(exchange, encoder, context.silences)
  const progress = { started: false }
  try {
    await action.prepare?.(context.port, exchange.signal)
    for (const [index, task] of action.tasks.entries()) {
      const run = startRun(exchange, action, task, context)
      writer.explain(() => waitText(context.port, run))
      const result = await forward(exchange, run, action, index, writer, progress)
      writer.write(encoder.end(result, index, run.info))
    }
    writer.end(encoder.finish())
  } catch (thrown) {
    writer.stop()
    if (exchange.gone) return
    const error = withField(thrown, action)
    // From the first part on, an error is told inside the stream, whether or not its bytes left yet: one rule for clients.
    if (!encoder.streaming || !(writer.begun || progress.started)) throw error
    const known = exchange.noteError(error)
    if (encoder.cutsOnFailure === true) exchange.response.destroy()
    else writer.end(encoder.fail(known, exchange.statusOf(known)))
  }
}

/** Its place in the queue and what it waits for; nothing of what was asked. */
function waitText(port: YardPort, { info: { model, ticket } }: Run): string | undefined {
  const wait = ticket === undefined ? undefined : port.waitOf?.(ticket)
  return wait === undefined
    ? undefined
    : `number ${wait.place} of those who wait for "${model}": ${wait.reason}`
}

/** An error about a feature, that it is missing or cannot be had in this way, names the field that asked for it; others name a field as the request has it. */
function withField(thrown: unknown, { featureFields, nameField }: RunAction): unknown {
  if (!(thrown instanceof ModelyardError)) return thrown
  const { feature, param: named } = thrown.details
  const asked = featureFields[feature as keyof FeatureFields]
  const param = asked ?? (typeof named === 'string' ? nameField?.(named) : undefined)
  if (param === undefined) return thrown
  return new ModelyardError(thrown.code, thrown.message, {
    details: { ...thrown.details, param },
    cause: thrown,
  })
}

function startRun(exchange: Exchange, action: RunAction, task: Task, context: RunContext): Run {
  return context.port.startRun({
    model: action.model,
    task,
    ...action.options,
    request: `req_${exchange.id}`,
    signal: exchange.leaving,
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
  const reader = run.reader ?? new StreamReader(run.parts)
  try {
    for (;;) {
      const result = await reader.arrival(!encoder.streaming)
      if (result !== undefined) return completed(result)
      for (let part = reader.take(); part !== undefined; part = reader.take()) {
        progress.started = true
        writer.begin(run.info)
        writer.write(encoder.part(part, index))
        if (writer.blocked) await writer.drained()
        if (exchange.gone) throw abortError(exchange.leaving)
      }
    }
  } finally {
    // Harmless when the run has ended by itself; otherwise it gives the slot back.
    reader.leave()
  }
}

/** Over HTTP a run that was cut is an error; only library calls keep what came until then (P13). */
function completed(result: Result): Result {
  if (result.finishReason === 'timeout')
    throw new ModelyardError('timeout', 'The request ran into its time limit.')
  if (result.finishReason === 'abort') throw new ModelyardError('aborted', 'The request was aborted.')
  return result
}
