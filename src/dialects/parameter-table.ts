import { isMap } from '../base/is-map.ts'
import { asNumber, notImplemented, wrongType, type Fields, type NumberRange } from './fields.ts'

type JsonType = 'string' | 'boolean' | 'number' | 'object' | 'array' | 'any'

/**
 * What becomes of a documented parameter. `task`: decoded into the task or the run. `answer`: shapes the answer. `label`: has no
 * effect by its own definition, or none on what is answered, so it is checked and accepted. `neutral`: only values that ask for nothing
 * are accepted, all others are refused rather than ignored in silence.
 */
export type ParameterHandling =
  | { by: 'task' }
  | { by: 'answer' }
  | { by: 'label'; type: JsonType; because: string }
  | { by: 'neutral'; type: JsonType; values: readonly unknown[]; instead?: string; range?: NumberRange }

/** Name → handling, for every parameter of the published reference; names that are not in it are ignored. */
export type ParameterTable = ReadonlyMap<string, ParameterHandling>

export const TASK: ParameterHandling = { by: 'task' }
export const ANSWER: ParameterHandling = { by: 'answer' }

/** @param because why nothing follows from it, as the end of a sentence */
export function label(type: JsonType, because: string): ParameterHandling {
  return { by: 'label', type, because }
}

/** @param more what to do instead, as the end of a sentence; numbers that are no value at all, within or without */
export function neutral(
  type: JsonType,
  values: readonly unknown[],
  more: { instead?: string; range?: NumberRange } = {},
): ParameterHandling {
  return { by: 'neutral', type, values, ...more }
}

/** Rows of a table for several names. */
export function named(names: string[], handling: ParameterHandling): [string, ParameterHandling][] {
  return names.map((name) => [name, handling])
}

const TYPE_NAMES: Record<JsonType, string> = {
  string: 'a string',
  boolean: 'a boolean',
  number: 'a number',
  object: 'an object',
  array: 'an array',
  any: 'anything',
}

function hasType(value: unknown, type: JsonType): boolean {
  if (type === 'any') return true
  if (type === 'array') return Array.isArray(value)
  return type === 'object' ? isMap(value) : typeof value === type
}

function checkParameter(param: string, value: unknown, handling: ParameterHandling): void {
  if (handling.by === 'task' || handling.by === 'answer' || value === null || value === undefined) return
  if (!hasType(value, handling.type)) throw wrongType(param, TYPE_NAMES[handling.type], value)
  if (handling.by === 'label') return
  if (handling.range !== undefined) asNumber(value, param, handling.range)
  const asked = JSON.stringify(value)
  if (handling.values.some((accepted) => JSON.stringify(accepted) === asked)) return
  const remedy = handling.instead ?? 'leave it out'
  throw notImplemented(param, `This server does not support this value of '${param}'; ${remedy}.`)
}

/**
 * @param parent path of the object that holds the parameters, with its dot
 * @throws ModelyardError for labels of a wrong type and for what would otherwise be ignored in silence
 */
export function refuseUnsupported(body: Fields, table: ParameterTable, parent = ''): void {
  for (const name in body) {
    const handling = table.get(name)
    if (handling !== undefined) checkParameter(parent + name, body[name], handling)
  }
}
