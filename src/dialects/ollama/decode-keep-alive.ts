import type { RunRequest } from '../../runs/run.ts'
import type { DialectRequest } from '../dialect.ts'
import { decodeExtensions } from '../extensions.ts'
import { invalidField, wrongType, type Fields } from '../fields.ts'

/** Milliseconds of each unit of Go's durations. */
const UNITS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // micro sign
  μs: 1e-3, // Greek letter
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

const NUMBER = String.raw`(?:\d+(?:\.\d*)?|\.\d+)`
const PLAIN = new RegExp(`^[+-]?${NUMBER}$`)
const DURATION = new RegExp(`^[+-]?(?:${NUMBER}(?:ns|us|µs|μs|ms|s|m|h))+$`)
const PIECE = new RegExp(`(${NUMBER})(ns|us|µs|μs|ms|s|m|h)`, 'g')

/** The longest that Go can write; whoever says more means for ever. */
const FOREVER = 9_223_372_036_854

/**
 * Milliseconds; −1 = for ever. Numbers are seconds, strings are Go durations or plain numbers of seconds, negative means for ever, 0 right
 * after the answer (BR-36). @throws invalid_request with the value
 */
export function decodeKeepAlive(value: unknown, param = 'keep_alive'): number {
  if (typeof value === 'number') return milliseconds(value * 1000)
  if (typeof value !== 'string')
    throw wrongType(param, 'a number of seconds or a duration such as "5m"', value)
  if (PLAIN.test(value)) return milliseconds(Number(value) * 1000)
  if (!DURATION.test(value)) {
    const shown = value.length > 32 ? `${value.slice(0, 32)}…` : value
    throw invalidField(
      param,
      `'${param}' is not a duration: ${JSON.stringify(shown)}. Write for example "5m" or -1.`,
    )
  }
  const pieces = [...value.matchAll(PIECE)]
  const sum = pieces.reduce((total, [, count, unit = '']) => total + Number(count) * (UNITS[unit] ?? 0), 0)
  return milliseconds(value.startsWith('-') ? -sum : sum)
}

/** Less than a millisecond is not yet nothing. */
function milliseconds(value: number): number {
  return value < 0 || value > FOREVER ? -1 : Math.ceil(value)
}

/** What every route that runs or loads a model takes. */
export function decodeRunOptions(
  body: Fields,
  headers: DialectRequest['headers'],
): Pick<RunRequest, 'priority' | 'keepAlive' | 'session'> {
  const { keep_alive: keepAlive, ...rest } = body
  if (keepAlive === undefined || keepAlive === null) return decodeExtensions(rest, headers)
  return { ...decodeExtensions(rest, headers), keepAlive: decodeKeepAlive(keepAlive) }
}
