import { crc32 } from 'node:zlib'
import type { ParkOrder } from '../pool/policy/messages.ts'

/** What is known of a parked context; lies beside it as `context-N.json`. Hashes and numbers, never a word of a user's text. */
export interface ContextRecord extends Omit<ParkOrder, 'slot'> {
  /** Bytes of the engine's file. */
  size: number
  /** Milliseconds since 1970. */
  parkedAt: number
}

const FORMAT = 'modelyard-context-1'

/** One line with its own sum: a record that is not exactly what was written is none. */
export function encodeRecord(record: ContextRecord): string {
  const body = JSON.stringify(record)
  return JSON.stringify({ format: FORMAT, sum: crc32(body), record: body })
}

/** Undefined for anything that {@link encodeRecord} did not write. */
export function decodeRecord(text: string): ContextRecord | undefined {
  try {
    const { format, sum, record } = JSON.parse(text) as Record<string, unknown>
    if (format !== FORMAT || typeof record !== 'string' || sum !== crc32(record)) return undefined
    return JSON.parse(record) as ContextRecord
  } catch {
    return undefined
  }
}
