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

function decodeCache(value: unknown, param: string): 'none' {
  if (value === 'none') return value
  throw invalidField(param, `'${param}' must be 'none', or left out.`)
}

/** Milliseconds that the whole run may take (P13). */
function decodeTimeout(value: unknown): number {
  const timeout = decodeKeepAlive(value, 'timeout')
  if (timeout >= 0) return timeout
  throw invalidField('timeout', "'timeout' must not be negative; leave it out for no limit of your own.")
}

type Extensions = Pick<RunRequest, 'priority' | 'keepAlive' | 'session' | 'timeout' | 'cache'>

/** `keep_alive`, `priority`, `session`, `timeout` and `cache` of any dialect: from the body, else from the header of that name. */
export function decodeExtensions(body: Fields, headers: DialectRequest['headers']): Extensions {
  const options: Extensions = {}
  const keepAlive = body['keep_alive'] ?? headers['modelyard-keep-alive']
  if (keepAlive !== undefined) options.keepAlive = decodeKeepAlive(keepAlive, 'keep_alive')
  const priority = body['priority'] ?? headers['modelyard-priority']
  if (priority !== undefined) options.priority = decodePriority(priority, 'priority')
  const session = body['session'] ?? headers['modelyard-session']
  if (session !== undefined) options.session = decodeSession(session, 'session')
  const timeout = body['timeout'] ?? headers['modelyard-timeout']
  if (timeout !== undefined) options.timeout = decodeTimeout(timeout)
  const cache = body['cache'] ?? headers['modelyard-cache']
  if (cache !== undefined) options.cache = decodeCache(cache, 'cache')
  return options
}
