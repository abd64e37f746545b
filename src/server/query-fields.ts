import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'

/** The fields of an address's query, each of them known. @throws ModelyardError `invalid_request` naming the one that is not */
export function queryFields<Name extends string>(
  query: string,
  known: readonly Name[],
): Partial<Record<Name, string>> {
  const fields: Partial<Record<Name, string>> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    const match = known.find((candidate) => candidate === name)
    if (match === undefined) throw wrong(name, hint(name, known))
    fields[match] = value
  }
  return fields
}

/** A whole number in a query. @throws ModelyardError `invalid_request` */
export function wholeNumber(
  text: string | undefined,
  param: string,
  { min, max, fallback }: { min: number; max: number; fallback: number },
): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value
  throw wrong(param, `'${param}' must be a whole number from ${min} to ${max}.`)
}

function hint(name: string, known: readonly string[]): string {
  const [near] = nearestNames(name, known, 1)
  return `'${name}' is not known here; ${near === undefined ? `known are ${known.join(', ')}` : `did you mean '${near}'?`}`
}

function wrong(param: string, message: string): ModelyardError {
  return new ModelyardError('invalid_request', message, { details: { param } })
}
