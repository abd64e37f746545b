import { parseDuration } from '../base/durations.ts'
import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import { checkTask } from '../tasks/check-task.ts'
import type { Task } from '../tasks/task.ts'
import type { CallOptions } from './library-request.ts'
import type { RunRequest } from './run.ts'

/** Names of what every library call may carry. */
export const CALL_KEYS: readonly string[] = [
  'model',
  'signal',
  'timeout',
  'priority',
  'keepAlive',
  'within',
  'cache',
  'context',
]

/** A mistyped option is an error with the name that was meant, never ignored. */
export function refuseUnknownKeys(request: object, known: readonly string[]): void {
  const wrong = Object.keys(request).find((key) => !known.includes(key))
  if (wrong === undefined) return
  const [nearest] = nearestNames(wrong, known)
  const hint = nearest === undefined ? `Known are: ${known.join(', ')}.` : `Did you mean "${nearest}"?`
  throw new ModelyardError('invalid_request', `"${wrong}" is not an option of this call. ${hint}`, {
    details: { param: wrong },
  })
}

/** What is there of these options: zero, an empty list and an empty text are values. */
export function pick<From extends object, Key extends keyof From>(
  from: From,
  keys: readonly Key[],
): Pick<From, Key> {
  const present = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]])
  return Object.fromEntries(present) as Pick<From, Key>
}

/** What a call asks of the yard. @throws ModelyardError `invalid_request` naming the option that is wrong */
export function runRequest(call: CallOptions, task: Task): RunRequest {
  if (typeof call.model !== 'string' || call.model === '') {
    throw new ModelyardError('invalid_request', 'model: must name a model.', { details: { param: 'model' } })
  }
  checkTask(task)
  return {
    model: call.model,
    task,
    ...pick(call, ['signal', 'priority', 'within', 'cache']),
    ...(call.timeout === undefined ? {} : { timeout: parseDuration(call.timeout) }),
    ...(call.keepAlive === undefined ? {} : { keepAlive: parseDuration(call.keepAlive) }),
    ...(call.context === undefined ? {} : { wish: { context: requireTokens(call.context) } }),
  }
}

function requireTokens(context: number): number {
  if (Number.isInteger(context) && context > 0) return context
  const message = `context: must be a whole number of tokens from 1 up, not ${context}.`
  throw new ModelyardError('invalid_request', message, { details: { param: 'context' } })
}
