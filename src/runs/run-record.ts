import type { ModelyardError } from '../base/errors.ts'
import type { Result } from '../tasks/part.ts'
import type { RunRecord } from './run-log.ts'
import type { RunInfo, RunRequest } from './run.ts'

/** How a run went. */
export interface RunAccount {
  readonly info: RunInfo
  readonly request: RunRequest
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly totalMs: number
  /** A finish reason, or the code of the error that ended it. */
  readonly outcome: string
  readonly result: Result | undefined
  readonly failure: ModelyardError | undefined
  /** Parts of the answer, for a run that was cut short: it has no other count. */
  readonly pieces: number
  /** Milliseconds that so many cached tokens spared. */
  readonly savedTime: (cachedTokens: number) => number
}

/** A run's row in the activity log, with no text of users (F10). Pure. */
export function runRecord(account: RunAccount): RunRecord {
  const { info, request, result, failure } = account
  const { id, model, queueMs, loadMs } = info
  const cachedTokens = result?.usage.cachedTokens ?? info.cachedTokens
  return {
    id,
    model,
    instance: info.instance ?? null,
    kind: request.task.kind,
    startedAt: account.startedAt,
    queueMs,
    loadMs,
    prefillMs: result?.timings.prefill ?? 0,
    decodeMs: result?.timings.decode ?? 0,
    totalMs: account.totalMs,
    promptTokens: result?.usage.promptTokens ?? info.promptTokens,
    cachedTokens,
    savedMs: account.savedTime(cachedTokens),
    completionTokens: result?.usage.completionTokens ?? account.pieces,
    outcome: account.outcome,
    request: request.request ?? null,
    placement: info.placement ?? null,
    // An engine may quote its input: only the sentences of others are kept.
    error: failure === undefined || mayQuote(failure) ? null : failure.message,
  }
}

/** F10: what an engine, a client or a bug says may hold a word of a user's text. */
function mayQuote({ code }: ModelyardError): boolean {
  return code === 'engine_failed' || code === 'internal' || code === 'invalid_request'
}
