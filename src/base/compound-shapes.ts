import { isConfigurationMap } from './is-map.ts'
import { nearestNames } from './nearest.ts'
import { kindOf, report, type DataPath, type ReadContext, type Shape } from './shape.ts'

export function list<Value>(of: Shape<Value>, options: { min?: number } = {}): Shape<Value[]> {
  const min = options.min ?? 0
  const wants = min > 0 ? `a list of at least ${min}` : 'a list'
  return {
    wants,
    schema: { type: 'array', items: of.schema, ...(min > 0 && { minItems: min }) },
    accepts: Array.isArray,
    read(value, path, context) {
      if (!Array.isArray(value) || value.length < min) {
        return report(context, path, `must be ${wants}, not ${kindOf(value)}`)
      }
      return value.map((item, index) => of.read(item, [...path, index], context) as Value)
    },
  }
}

/** A list, or one value that stands for a list of one. */
export function oneOrMore<Value>(of: Shape<Value>): Shape<Value[]> {
  const many = list(of)
  return {
    wants: `${of.wants} or a list`,
    schema: { anyOf: [of.schema, many.schema] },
    accepts: (value) => many.accepts(value) || of.accepts(value),
    read(value, path, context) {
      if (Array.isArray(value)) return many.read(value, path, context)
      const one = of.read(value, path, context)
      return one === undefined ? undefined : [one]
    },
  }
}

/** A map whose names are the user's own. A name without a value (null) is read as an empty map. */
export function mapOf<Value>(
  of: Shape<Value>,
  names: { pattern: RegExp; wants: string },
): Shape<Record<string, Value>> {
  return {
    wants: 'a map',
    schema: {
      type: 'object',
      propertyNames: { pattern: names.pattern.source },
      additionalProperties: of.schema,
    },
    accepts: isConfigurationMap,
    read(value, path, context) {
      if (!isConfigurationMap(value)) return report(context, path, `must be a map, not ${kindOf(value)}`)
      const entries: [string, Value][] = []
      for (const [name, item] of Object.entries(value)) {
        const place = [...path, name]
        if (!names.pattern.test(name)) report(context, place, `is not a valid name: ${names.wants}`, 'key')
        const read = of.read(item ?? {}, place, context)
        if (read !== undefined) entries.push([name, read])
      }
      return Object.fromEntries(entries)
    },
  }
}

export type Fields = Record<string, Shape<unknown>>

export type FieldValues<Of extends Fields> = {
  [Name in keyof Of]?: Of[Name] extends Shape<infer Value> ? Value : never
}

/**
 * A map of known options, each of which may be absent; null counts as absent, as a YAML key without a value is. An unknown name is
 * a problem that names the nearest known one (P1). `required` names must be there.
 */
export function object<Of extends Fields>(
  fields: Of,
  options: { required?: (keyof Of & string)[] } = {},
): Shape<FieldValues<Of>> {
  const required = options.required ?? []
  const byName = new Map(Object.entries(fields))
  return {
    wants: 'a map of options',
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.schema])),
      additionalProperties: false,
      ...(required.length > 0 && { required }),
    },
    accepts: isConfigurationMap,
    isRight(value) {
      if (!isConfigurationMap(value)) return false
      for (const name of required) if (value[name] === undefined) return false
      for (const name in value) if (byName.get(name)?.isRight?.(value[name]) !== true) return false
      return true
    },
    read(value, path, context) {
      if (!isConfigurationMap(value))
        return report(context, path, `must be a map of options, not ${kindOf(value)}`)
      for (const name of required) {
        if (value[name] === undefined || value[name] === null) report(context, path, `needs "${name}"`)
      }
      return readFields(fields, value, path, context) as FieldValues<Of>
    },
  }
}

function readFields(
  fields: Fields,
  value: Record<string, unknown>,
  path: DataPath,
  context: ReadContext,
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) reportUnknown(name, Object.keys(fields), path, context)
    else if (item !== null && item !== undefined) {
      const read = field.read(item, [...path, name], context)
      if (read !== undefined) result[name] = read
    }
  }
  return result
}

export function reportUnknown(
  name: string,
  known: readonly string[],
  path: DataPath,
  context: ReadContext,
): void {
  const near = nearestNames(name, known, 1)
  const hint = near.length === 0 ? `known are ${known.join(', ')}` : `did you mean "${near[0]}"?`
  report(context, [...path, name], `is not an option; ${hint}`, 'key')
}

/** Whichever of the shapes accepts the value, the first first. */
export function either<Values extends unknown[]>(
  ...shapes: { [Index in keyof Values]: Shape<Values[Index]> }
): Shape<Values[number]> {
  const all = shapes as Shape<Values[number]>[]
  const wants = all.map((shape) => shape.wants).join(', or ')
  return {
    wants,
    schema: { anyOf: all.map((shape) => shape.schema) },
    accepts: (value) => all.some((shape) => shape.accepts(value)),
    read(value, path, context) {
      const shape = all.find((candidate) => candidate.accepts(value))
      if (shape === undefined) return report(context, path, `must be ${wants}, not ${kindOf(value)}`)
      return shape.read(value, path, context)
    },
  }
}
