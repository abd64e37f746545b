import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseBytes } from './bytes.ts'
import { parseDuration } from './durations.ts'
import { nearestNames } from './nearest.ts'
import { kindOf, report, type JsonSchema, type ReadContext, type DataPath, type Shape } from './shape.ts'

interface ScalarOptions<Value> {
  wants: string
  schema: JsonSchema
  accepts: (value: unknown) => boolean
  /** See {@link Shape.isRight}. */
  isRight?: (value: unknown) => boolean
  /** The value, or a sentence that says what is wrong with it. */
  convert: (value: unknown, context: ReadContext) => { value: Value } | { wrong: string }
}

function scalar<Value>({ wants, schema, accepts, isRight, convert }: ScalarOptions<Value>): Shape<Value> {
  const read = (value: unknown, place: DataPath, context: ReadContext): Value | undefined => {
    if (!accepts(value))
      return report(context, place, `must be ${wants}, not ${kindOf(value)}${hintFor(schema, value)}`)
    const result = convert(value, context)
    return 'wrong' in result ? report(context, place, result.wrong) : result.value
  }
  return { wants, schema, accepts, ...(isRight && { isRight }), read }
}

/** The commonest slip in YAML: a name or key of digits alone is read as a number. */
function hintFor(schema: JsonSchema, value: unknown): string {
  const scalarValue = typeof value === 'number' || typeof value === 'boolean'
  return schema['type'] === 'string' && scalarValue ? '; put it in quotes' : ''
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number' && !Number.isNaN(value)
const isTextOrNumber = (value: unknown): boolean => isText(value) || isNumber(value)

export function text(options: { pattern?: RegExp; wants?: string } = {}): Shape<string> {
  const { pattern, wants = 'text' } = options
  return scalar({
    wants,
    schema: { type: 'string', ...(pattern && { pattern: pattern.source }) },
    accepts: isText,
    isRight: (value) => isText(value) && pattern?.test(value) !== false,
    convert: (value) =>
      pattern?.test(value as string) === false ? { wrong: `must be ${wants}` } : { value: value as string },
  })
}

export interface NumberRange {
  min?: number
  max?: number
  /** The number must be above this. */
  above?: number
  whole?: boolean
}

function rangeWords({ min, max, above, whole }: NumberRange): string {
  const kind = whole === true ? 'a whole number' : 'a number'
  if (min !== undefined && max !== undefined) return `${kind} from ${min} to ${max}`
  if (above !== undefined) return `${kind} above ${above}`
  if (min !== undefined) return `${kind} of at least ${min}`
  return max === undefined ? kind : `${kind} of at most ${max}`
}

export function number(range: NumberRange = {}): Shape<number> {
  const { min = -Infinity, max = Infinity, above = -Infinity, whole = false } = range
  const fits = (value: number): boolean =>
    value >= min &&
    value <= max &&
    value > above &&
    Number.isFinite(value) &&
    (!whole || Number.isSafeInteger(value))
  const wants = rangeWords(range)
  return scalar({
    wants,
    schema: {
      type: whole ? 'integer' : 'number',
      ...(range.min !== undefined && { minimum: min }),
      ...(range.max !== undefined && { maximum: max }),
      ...(range.above !== undefined && { exclusiveMinimum: above }),
    },
    accepts: isNumber,
    isRight: (value) => isNumber(value) && fits(value),
    convert: (value) =>
      fits(value as number)
        ? { value: value as number }
        : { wrong: `must be ${wants}, not ${String(value)}` },
  })
}

export function flag(): Shape<boolean> {
  return scalar({
    wants: 'true or false',
    schema: { type: 'boolean' },
    accepts: (value) => typeof value === 'boolean',
    convert: (value) => ({ value: value as boolean }),
  })
}

/** One of a few values; a mistyped one is told what is near. */
export function choice<const Value extends string | number | boolean>(...values: Value[]): Shape<Value> {
  const names = values.map((value) => JSON.stringify(value))
  const wants = names.length === 1 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  return scalar({
    wants,
    schema: { enum: values },
    accepts: (value) => values.some((known) => typeof known === typeof value),
    isRight: (value) => values.includes(value as Value),
    convert: (value) => {
      if (values.includes(value as Value)) return { value: value as Value }
      const near = nearestNames(String(value), values.map(String), 1)
      const hint = near.length === 0 ? '' : `; did you mean ${JSON.stringify(near[0])}?`
      return { wrong: `must be ${wants}${hint}` }
    },
  })
}

function parsed(parse: (value: number | string) => number): ScalarOptions<number>['convert'] {
  return (value) => {
    try {
      return { value: parse(value as number | string) }
    } catch (error) {
      return { wrong: `is wrong: ${(error as Error).message}` }
    }
  }
}

/** Bytes, or `"6GiB"`. */
export function size(): Shape<number> {
  return scalar({
    wants: 'a size in bytes or such as "6GiB"',
    schema: {
      anyOf: [
        { type: 'number', minimum: 0 },
        { type: 'string', pattern: String.raw`^\s*\d+(\.\d+)?\s*([bB]|[kKmMgGtT]([iI]?[bB])?)?\s*$` },
      ],
    },
    accepts: isTextOrNumber,
    convert: parsed(parseBytes),
  })
}

/** Milliseconds from seconds or `"5m"`; negative = −1 = for ever, unless `finite`. */
export function duration(options: { finite?: boolean } = {}): Shape<number> {
  const finite = options.finite === true
  const forEver = finite ? '' : String.raw`-\d+(\.\d+)?[a-zA-Z]*|`
  const units = String.raw`(\d+(\.\d+)?([mM]?[sS]|[mMhHdD]))+`
  return scalar({
    wants: 'seconds or a duration such as "5m"',
    schema: {
      anyOf: [
        finite ? { type: 'number', minimum: 0 } : { type: 'number' },
        {
          type: 'string',
          pattern: String.raw`^\s*(${forEver}\d+(\.\d+)?|${units})\s*$`,
        },
      ],
    },
    accepts: isTextOrNumber,
    convert: parsed((value) => {
      const milliseconds = parseDuration(value)
      if (finite && milliseconds < 0) throw new Error(`"${value}" is negative, which has no meaning here.`)
      return milliseconds
    }),
  })
}

/** A file's path made absolute: `~` is the home folder, relative ones start at the context's folder. */
export function filePath(): Shape<string> {
  return scalar({
    wants: 'a path',
    schema: { type: 'string', minLength: 1 },
    accepts: (value) => isText(value) && value !== '',
    convert: (value, { directory }) => ({ value: absolutePath(value as string, directory) }),
  })
}

export function absolutePath(written: string, directory: string): string {
  if (written === '~') return homedir()
  if (/^~[/\\]/.test(written)) return join(homedir(), written.slice(2))
  return resolve(directory, written)
}

/** Any value, left as it is. */
export function anything(): Shape<unknown> {
  return scalar({ wants: 'anything', schema: {}, accepts: () => true, convert: (value) => ({ value }) })
}
