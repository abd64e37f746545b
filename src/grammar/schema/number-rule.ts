import type { Expression } from '../expression.ts'
import type { JsonRules } from '../json-rules.ts'
import { integerRange, numberRange, type NumberBounds } from '../number-range.ts'
import type { KeywordReader } from './read-keywords.ts'

/** Numbers within the bounds; undefined when there are none. */
export function numberRule(reader: KeywordReader, json: JsonRules, whole: boolean): Expression | undefined {
  reader.refuseAll(['multipleOf'], (value) => whole && value === 1)
  const least = bound(reader.number('minimum'), reader.number('exclusiveMinimum'), Math.max)
  const most = bound(reader.number('maximum'), reader.number('exclusiveMaximum'), Math.min)
  if (least === undefined && most === undefined) return whole ? json.integer : json.number
  const bounds: NumberBounds = { ...(least !== undefined && { least }), ...(most !== undefined && { most }) }
  if (whole) return integerRange(bounds)
  const range = numberRange(bounds)
  if (range !== 'too-fine') return range
  const keyword = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum'].find((name) =>
    reader.has(name),
  )
  return reader.refuse(keyword ?? 'minimum', 'the bounds of a number may have 15 digits in all.')
}

/** The tighter of both; of equal ones the one that is outside. */
function bound(
  inclusive: number | undefined,
  exclusive: number | undefined,
  tighter: (some: number, other: number) => number,
): { value: number; exclusive: boolean } | undefined {
  if (inclusive === undefined && exclusive === undefined) return undefined
  const value = tighter(inclusive ?? (exclusive as number), exclusive ?? (inclusive as number))
  return { value, exclusive: value === exclusive }
}
