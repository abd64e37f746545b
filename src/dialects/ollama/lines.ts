export const LINES = 'application/x-ndjson'

/** One line of an answer. */
export function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

/** RFC 3339, as all times of this API. @param time milliseconds since 1970 */
export function timestamp(time: number): string {
  return new Date(time).toISOString()
}

/** All durations of this API are nanoseconds. */
export function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6)
}
