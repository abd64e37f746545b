import { ModelyardError } from './errors.ts'

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Milliseconds from a number of **seconds** or from a string such as `"5m"`, `"1h30m"`, `"250ms"`; a bare number in a string is
 * seconds. Negative values mean "for ever" and give -1. @throws config_invalid
 */
export function parseDuration(value: number | string): number {
  const text = String(value).trim()
  if (/^-\d+(\.\d+)?[a-z]*$/i.test(text)) return -1
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gi)]
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text) {
    throw new ModelyardError(
      'config_invalid',
      `"${value}" is not a duration; write seconds or for example "5m".`,
    )
  }
  return Math.round(
    parts.reduce((sum, part) => sum + Number(part[1]) * (UNITS[(part[2] ?? '').toLowerCase()] ?? 0), 0),
  )
}

/** Milliseconds for people: `250 ms`, `4.2 s`, `5 min`, `2 h`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${tenths(milliseconds / 1000)} s`
  if (milliseconds < 3_600_000) return `${tenths(milliseconds / 60_000)} min`
  return `${tenths(milliseconds / 3_600_000)} h`
}

/** Milliseconds, exactly, as a configuration has them: `5m`, `1h30m`, `250ms`, `0s`. For ever (negative) is no length of time. */
export function writeDuration(milliseconds: number): string {
  let rest = Math.round(milliseconds)
  const parts = Object.entries(UNITS)
    .toSorted(([, a], [, b]) => b - a)
    .map(([unit, length]) => {
      const count = Math.floor(rest / length)
      rest -= count * length
      return count === 0 ? '' : `${count}${unit}`
    })
  return parts.join('') || '0s'
}

/** With one digit after the point. `toFixed` takes ten times as long, and only it can tell which side of the middle a number is on. */
function tenths(value: number): number {
  const scaled = value * 10
  const isMiddle = Math.abs(scaled - Math.floor(scaled) - 0.5) < 1e-6
  return isMiddle ? Number(value.toFixed(1)) : Math.round(scaled) / 10
}
