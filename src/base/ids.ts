import { randomBytes } from 'node:crypto'

/** An id that is unique for all practical purposes: `prefix` + 24 lower-case hex digits. */
export function createId(prefix: string): string {
  return prefix + randomBytes(12).toString('hex')
}
