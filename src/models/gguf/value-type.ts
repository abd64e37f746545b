import type { HeaderCursor } from './header-cursor.ts'

/** Numbers of the value types in a GGUF header. */
export const STRING = 8
export const ARRAY = 9
export const INT32 = 5
export const UINT32 = 4
export const FLOAT32 = 6

interface Scalar {
  bytes: number
  take: (cursor: HeaderCursor) => number | boolean
}

const SCALARS: Readonly<Record<number, Scalar>> = {
  0: { bytes: 1, take: (cursor) => cursor.uint8() },
  1: { bytes: 1, take: (cursor) => cursor.int8() },
  2: { bytes: 2, take: (cursor) => cursor.uint16() },
  3: { bytes: 2, take: (cursor) => cursor.int16() },
  4: { bytes: 4, take: (cursor) => cursor.uint32() },
  5: { bytes: 4, take: (cursor) => cursor.int32() },
  6: { bytes: 4, take: (cursor) => cursor.float32() },
  7: { bytes: 1, take: (cursor) => cursor.uint8() !== 0 },
  10: { bytes: 8, take: (cursor) => cursor.uint64() },
  11: { bytes: 8, take: (cursor) => cursor.int64() },
  12: { bytes: 8, take: (cursor) => cursor.float64() },
}

/** How to read a number or boolean of this type; undefined for texts, arrays and types nobody knows. */
export function scalarType(id: number): Scalar | undefined {
  return SCALARS[id]
}
