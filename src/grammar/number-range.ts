import {
  characters,
  choice,
  optional,
  repeat,
  sequence,
  text,
  NOTHING,
  type Expression,
} from './expression.ts'

/** Most digits in all, so that a written number and the double it becomes are on the same side of every bound. */
const MOST_DIGITS = 15
/** Digits before the point where there is no bound, and after it where the bounds do not need more. */
const USUAL_WHOLE = 9
const USUAL_FRACTION = 6

/** Each bound as a number, with whether the number itself is outside; absent = none. */
export interface NumberBounds {
  least?: { value: number; exclusive: boolean }
  most?: { value: number; exclusive: boolean }
}

/** A decimal without loss: `digits` × 10^−`scale`. */
interface Decimal {
  digits: bigint
  scale: number
}

/** Integers within the bounds, at most 15 digits; undefined when there are none. */
export function integerRange(bounds: NumberBounds): Expression | undefined {
  return signedRange(bounds, 0, MOST_DIGITS)
}

/** Decimals within the bounds, without exponents; undefined when there are none, `too-fine` when bounds have too many digits. */
export function numberRange(bounds: NumberBounds): Expression | 'too-fine' | undefined {
  const given = [bounds.least, bounds.most].flatMap((bound) =>
    bound === undefined ? [] : [decimalOf(bound.value)],
  )
  const open = given.length < 2
  const wholeDigits = Math.max(1, ...given.map(({ digits, scale }) => wholeLength(digits, scale)))
  const needed = Math.max(0, ...given.map(({ scale }) => scale))
  const whole = open ? Math.max(wholeDigits + 1, Math.min(USUAL_WHOLE, MOST_DIGITS - needed)) : wholeDigits
  if (whole + needed > MOST_DIGITS) return 'too-fine'
  return signedRange(bounds, Math.min(Math.max(needed, USUAL_FRACTION), MOST_DIGITS - whole), whole)
}

function wholeLength(digits: bigint, scale: number): number {
  return Math.max(1, magnitude(digits).toString().length - scale)
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}

/** The written form of a double is what its bound means. */
function decimalOf(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = value.toString().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

/** All are integers of 10^−`fraction`. */
function signedRange({ least, most }: NumberBounds, fraction: number, whole: number): Expression | undefined {
  const limit = 10n ** BigInt(whole + fraction) - 1n
  const low = least === undefined ? -limit : ceiling(decimalOf(least.value), fraction, least.exclusive)
  const high = most === undefined ? limit : floor(decimalOf(most.value), fraction, most.exclusive)
  const from = low < -limit ? -limit : low
  const to = high > limit ? limit : high
  if (from > to) return undefined
  const positive = to < 0n ? [] : [decimals(from > 0n ? from : 0n, to, fraction)]
  const negative = from >= 0n ? [] : [sequence(text('-'), decimals(to < 0n ? -to : 1n, -from, fraction))]
  return choice(...positive, ...negative)
}

function ceiling({ digits, scale }: Decimal, fraction: number, exclusive: boolean): bigint {
  return -floor({ digits: -digits, scale }, fraction, exclusive)
}

function floor({ digits, scale }: Decimal, fraction: number, exclusive: boolean): bigint {
  const scaled = digits * 10n ** BigInt(fraction)
  const unit = 10n ** BigInt(scale)
  const quotient = scaled / unit - (scaled < 0n && scaled % unit !== 0n ? 1n : 0n)
  return exclusive && quotient * unit === scaled ? quotient - 1n : quotient
}

/** 0 ≤ low ≤ high, both in units of 10^−`fraction`. */
function decimals(low: bigint, high: bigint, fraction: number): Expression {
  const unit = 10n ** BigInt(fraction)
  const [lowWhole, highWhole] = [low / unit, high / unit]
  const padded = (value: bigint): string => (fraction === 0 ? '' : value.toString().padStart(fraction, '0'))
  const [lowPart, highPart] = [padded(low % unit), padded(high % unit)]
  const [zeros, nines] = ['0'.repeat(fraction), '9'.repeat(fraction)]
  if (lowPart === zeros && highPart === nines)
    return sequence(naturals(lowWhole, highWhole), part(zeros, nines))
  if (lowWhole === highWhole) return sequence(text(`${lowWhole}`), part(lowPart, highPart))
  const between = lowWhole + 1n <= highWhole - 1n
  return choice(
    sequence(text(`${lowWhole}`), part(lowPart, nines)),
    ...(between ? [sequence(naturals(lowWhole + 1n, highWhole - 1n), part(zeros, nines))] : []),
    sequence(text(`${highWhole}`), part(zeros, highPart)),
  )
}

/** Point and digits such that, filled with zeros, they are from `low` to `high`; left out where that is allowed. */
function part(low: string, high: string): Expression {
  if (high === '') return NOTHING
  const written = sequence(text('.'), digitsBetween(low, high, false))
  return isAll(low, '0') ? optional(written) : written
}

/** Digits, as many as `low` or fewer, that are from `low` to `high` when filled with zeros. */
function digitsBetween(low: string, high: string, mayBeNone: boolean): Expression {
  if (low === '') return NOTHING
  const none = mayBeNone && isAll(low, '0') ? [NOTHING] : []
  if (isAll(low, '0') && isAll(high, '9')) return repeat(characters('0-9'), mayBeNone ? 0 : 1, low.length)
  return choice(
    ...none,
    ...byFirstDigit(
      low,
      high,
      (from, to) => digitsBetween(from, to, true),
      repeat(characters('0-9'), 0, low.length - 1),
    ),
  )
}

/** Whole numbers without leading zeros. */
function naturals(low: bigint, high: bigint): Expression {
  const shortest = `${low}`.length
  const lengths = Array.from({ length: `${high}`.length - shortest + 1 }, (_, index) => shortest + index)
  return choice(
    ...lengths.map((length) => {
      const least = length === 1 ? 0n : 10n ** BigInt(length - 1)
      const most = 10n ** BigInt(length) - 1n
      return ofOneLength(`${low > least ? low : least}`, `${high < most ? high : most}`)
    }),
  )
}

/** Numbers written with as many digits as both bounds have. */
function ofOneLength(low: string, high: string): Expression {
  if (low === high) return text(low)
  if (isAll(low, '0') && isAll(high, '9')) return repeat(characters('0-9'), low.length, low.length)
  const rest = repeat(characters('0-9'), low.length - 1, low.length - 1)
  return choice(...byFirstDigit(low, high, ofOneLength, rest))
}

/** What begins as `low` does, what begins as `high` does, and all between. */
function byFirstDigit(
  low: string,
  high: string,
  rest: (low: string, high: string) => Expression,
  anyRest: Expression,
): Expression[] {
  const [first, last] = [Number(low[0]), Number(high[0])]
  const [lowRest, highRest] = [low.slice(1), high.slice(1)]
  if (first === last) return [sequence(text(`${first}`), rest(lowRest, highRest))]
  const between = characters(`${first + 1}-${last - 1}`)
  return [
    sequence(text(`${first}`), rest(lowRest, '9'.repeat(lowRest.length))),
    ...(last - first > 1 ? [sequence(between, anyRest)] : []),
    sequence(text(`${last}`), rest('0'.repeat(highRest.length), highRest)),
  ]
}

function isAll(digits: string, digit: string): boolean {
  return digits === digit.repeat(digits.length)
}
