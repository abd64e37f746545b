import type { RunInfo } from '../../runs/run.ts'
import type { FinishReason, Result, TokenLogprob } from '../../tasks/part.ts'
import { nanoseconds } from './lines.ts'

const DONE_REASONS: Record<FinishReason, string> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'stop',
  // These two come from library calls only; over HTTP they are errors before they get here.
  abort: 'stop',
  timeout: 'stop',
}

/** Last fields of an answer as JSON, without braces. */
export function doneJson({ finishReason, usage, timings }: Result, info: RunInfo): string {
  const { queueMs, loadMs } = info
  const total = queueMs + loadMs + timings.prefill + timings.decode
  const end =
    `"done":true,"done_reason":"${DONE_REASONS[finishReason]}",` +
    `"total_duration":${nanoseconds(total)},"load_duration":${nanoseconds(loadMs)},`
  if (usage.unknown === true) {
    const durations = [timings.prefill, timings.decode].map(nanoseconds)
    return `${end}"prompt_eval_duration":${durations[0]},"eval_duration":${durations[1]}`
  }
  return (
    end +
    `"prompt_eval_count":${usage.promptTokens},"prompt_eval_duration":${nanoseconds(timings.prefill)},` +
    `"eval_count":${usage.completionTokens},"eval_duration":${nanoseconds(timings.decode)}`
  )
}

/** `logprobs` as JSON. */
export function logprobsJson(entries: readonly TokenLogprob[]): string {
  return JSON.stringify(
    entries.map(({ text, logprob, bytes, top }) => ({
      token: text,
      logprob,
      bytes,
      ...(top.length === 0
        ? {}
        : {
            top_logprobs: top.map((other) => ({
              token: other.text,
              logprob: other.logprob,
              bytes: other.bytes,
            })),
          }),
    })),
  )
}
