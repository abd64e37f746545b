import { ModelyardError } from '../base/errors.ts'
import { isMap } from '../base/is-map.ts'

/** A JSON object from outside: nothing about it is known yet. */
export type Fields = Record<string, unknown>

/** An `invalid_request` that names the field, as a path: `messages[0].role`. Messages never repeat a client's text. */
export function invalidField(param: string, message: string): ModelyardError {
  return new ModelyardError('invalid_request', message, { details: { param } })
}

/** A documented thing that this version does not do: 501, so that it is never ignored in silence. */
export function notImplemented(param: string, message: string): ModelyardError {
  return new ModelyardError('unsupported', message, { details: { param, httpStatus: 501 } })
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

export function wrongType(param: string, expected: string, value: unknown): ModelyardError {
  return invalidField(param, `'${param}' must be ${expected}, but it is ${kindOf(value)}.`)
}

/** The value as an object. @throws invalid_request */
export function asFields(value: unknown, param: string): Fields {
  if (!isMap(value)) throw wrongType(param, 'an object', value)
  return value
}

export function asString(value: unknown, param: string): string {
  if (typeof value !== 'string') throw wrongType(param, 'a string', value)
  return value
}

export function asArray(value: unknown, param: string): unknown[] {
  if (!Array.isArray(value)) throw wrongType(param, 'an array', value)
  return value as unknown[]
}

/** Bounds of a number, both included; `above` excludes its bound. */
export interface NumberRange {
  least?: number
  above?: number
  most?: number
  integer?: boolean
}

/** The value as a finite number within bounds (`1e999` is none). @throws invalid_request */
export function asNumber(value: unknown, param: string, range: NumberRange): number {
  if (typeof value !== 'number') throw wrongType(param, range.integer ? 'an integer' : 'a number', value)
  if (range.integer && !Number.isSafeInteger(value)) {
    throw invalidField(param, `'${param}' must be an integer, but it is ${value}.`)
  }
  const { least = -Infinity, above = -Infinity, most = Infinity } = range
  if (!Number.isFinite(value) || value < least || value > most || (value <= above && above > -Infinity)) {
    throw invalidField(param, `'${param}' is ${value}, but it must be ${rangeText(range)}.`)
  }
  return value
}

function rangeText({ least, above, most }: NumberRange): string {
  const lower = above === undefined ? `at least ${least}` : `above ${above}`
  if (most === undefined) return least === undefined && above === undefined ? 'finite' : lower
  return least === undefined && above === undefined ? `at most ${most}` : `${lower} and at most ${most}`
}

/** Absent and null are the same: many clients send null for all they leave out. */
export function optionalNumber(
  fields: Fields,
  name: string,
  range: NumberRange,
  parent = '',
): number | undefined {
  const value = fields[name]
  return value === undefined || value === null ? undefined : asNumber(value, parent + name, range)
}

export function optionalBoolean(fields: Fields, name: string, parent = ''): boolean | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw wrongType(parent + name, 'a boolean', value)
  return value
}

export function optionalString(fields: Fields, name: string, parent = ''): string | undefined {
  const value = fields[name]
  return value === undefined || value === null ? undefined : asString(value, parent + name)
}

export function optionalFields(fields: Fields, name: string, parent = ''): Fields | undefined {
  const value = fields[name]
  return value === undefined || value === null ? undefined : asFields(value, parent + name)
}

export function optionalArray(fields: Fields, name: string, parent = ''): unknown[] | undefined {
  const value = fields[name]
  return value === undefined || value === null ? undefined : asArray(value, parent + name)
}

/** One of a list of words. */
export function optionalChoice<Word extends string>(
  fields: Fields,
  name: string,
  words: readonly Word[],
  parent = '',
): Word | undefined {
  const value = optionalString(fields, name, parent)
  if (value === undefined) return undefined
  const word = words.find((candidate) => candidate === value)
  if (word === undefined) {
    throw invalidField(
      parent + name,
      `'${parent}${name}' must be one of ${words.map((w) => `'${w}'`).join(', ')}.`,
    )
  }
  return word
}
