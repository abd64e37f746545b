import { asArray, asString, invalidField } from './fields.ts'

/** One string or several; empty ones are refused, since they would end every answer at once (BR-41). */
export function decodeStops(value: unknown, param: string, most: number): string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [checkStop(value, param)]
  const stops = asArray(value, param)
  if (stops.length > most) {
    throw invalidField(param, `'${param}' has ${stops.length} strings; at most ${most} are allowed.`)
  }
  return stops.map((stop, index) => {
    const path = `${param}[${index}]`
    return checkStop(asString(stop, path), path)
  })
}

function checkStop(stop: string, param: string): string {
  if (stop === '') throw invalidField(param, `'${param}' must not be empty.`)
  return stop
}
