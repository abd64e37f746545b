import { parseDuration } from '../base/durations.ts'
import type { Priority } from '../pool/limits.ts'
import type { RunRequest } from '../runs/run.ts'
import type { DialectRequest } from './dialect.ts'
import { asString, invalidField, wrongType, type Fields } from './fields.ts'

const PRIORITIES: readonly Priority[] = ['interactive', 'normal', 'background']

/** Milliseconds; −1 = for ever. Numbers are seconds (BR-36). */
export function decodeKeepAlive(value: unknown, param: string): number {
  if (typeof value !== 'number' && typeof value !== 'string') {
    throw wrongType(param, 'a number of seconds or a duration such as "5m"', value)
  }
  try {
    return parseDuration(value)
  } catch {
    throw invalidField(param, `'${param}' is not a duration; write seconds or for example "5m".`)
  }
}

function decodePriority(value: unknown, param: string): Priority {
  const priority = PRIORITIES.find((word) => word === value)
  if (priority !== undefined) return priority
  throw invalidField(param, `'${param}' must be one of 'interactive', 'normal', 'background'.`)
}

function decodeSession(value: unknown, param: string): string {
  const session = asString(value, param)
  if (session.length > 0 && session.length <= 512) return session
  throw invalidField(param, `'${param}' has ${session.length} characters; 1 to 512 are allowed.`)
}

/** `keep_alive`, `priority` and `session` of any dialect: from the body, else from the header of that name. */
export function decodeExtensions(
  body: Fields,
  headers: DialectRequest['headers'],
): Pick<RunRequest, 'priority' | 'keepAlive' | 'session'> {
  const options: Pick<RunRequest, 'priority' | 'keepAlive' | 'session'> = {}
  const keepAlive = body['keep_alive'] ?? headers['modelyard-keep-alive']
  if (keepAlive !== undefined) options.keepAlive = decodeKeepAlive(keepAlive, 'keep_alive')
  const priority = body['priority'] ?? headers['modelyard-priority']
  if (priority !== undefined) options.priority = decodePriority(priority, 'priority')
  const session = body['session'] ?? headers['modelyard-session']
  if (session !== undefined) options.session = decodeSession(session, 'session')
  return options
}
