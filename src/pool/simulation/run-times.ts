import type { CommandOf, ConfirmedUsage } from '../policy/messages.ts'
import { transferTime } from '../policy/context-worth.ts'
import { usageOf } from './conversations.ts'
import type { SimulatedModel } from './simulated-model.ts'
import type { VisitRequest } from './visitor.ts'

/** Milliseconds of a run, until its prompt is in its slot and until it ends. */
export interface RunTimes {
  readonly prompt: number
  readonly run: number
}

/** What its engine confirms of a visitor's run. */
export function confirmedUsage(
  { usage, chain = [], prompt }: VisitRequest,
  granted: CommandOf<'grant-lease'>,
  model: SimulatedModel,
): ConfirmedUsage {
  return usage ?? usageOf(granted, chain, prompt?.tokens, model.prefillPerToken)
}

/**
 * How long a run takes. Where the tokens of its prompt are known, those that are computed take their time, and so does the disk; all else is as it was
 * when `hold` was measured: what either took then is taken off. Otherwise half of it is its prompt.
 */
export function runTimes(
  request: VisitRequest,
  granted: CommandOf<'grant-lease'>,
  model: SimulatedModel,
  bytesRead: number,
): RunTimes {
  const { hold = 1000, prompt } = request
  const { prefillPerToken, bytesPerToken = 0 } = model
  if (prompt === undefined || prefillPerToken === undefined) return { prompt: hold / 2, run: hold }
  const recorded = (prompt.disk ?? 0) + (prompt.tokens - prompt.cached) * prefillPerToken
  const answer = Math.max(0, hold - recorded)
  const { prefill } = confirmedUsage(request, granted, model)
  let disk = granted.restore === undefined ? 0 : transferTime(bytesRead)
  for (const { tokens } of granted.park ?? []) disk += transferTime(tokens * bytesPerToken)
  return { prompt: disk + prefill, run: disk + prefill + answer }
}
