import { ModelyardError } from './errors.ts'

/*
 * Checks plain data that people write (configuration, engines' options) and turns it into typed values: sizes into bytes, durations
 * into milliseconds. Our own, because importing zod costs 75 ms of the 350 that `modelyard serve` has until it listens.
 */

export type JsonSchema = Record<string, unknown>

/** Names and indexes from the top of the data to a place in it. */
export type DataPath = readonly (string | number)[]

/** One thing that is wrong. `at: 'key'` means the name itself (an unknown option), `'value'` what stands behind it. */
export interface Problem {
  path: DataPath
  at: 'key' | 'value'
  /** Continues the place: `must be a number, not text`. */
  message: string
}

export interface ReadContext {
  /** Folder that relative paths are taken from. */
  directory: string
  problems: Problem[]
}

/** What a value must look like. */
export interface Shape<Value> {
  /** In words, after "must be". */
  readonly wants: string
  /** The same as JSON Schema, for editors. */
  readonly schema: JsonSchema
  /** Whether a value is of this kind at all; details are judged by `read`. */
  readonly accepts: (value: unknown) => boolean
  /** Whether the value can be taken as it is: `read` would give an equal one and report nothing. Absent: only `read` can tell. */
  readonly isRight?: (value: unknown) => boolean
  /** The typed value; undefined after a problem was reported. Never throws. */
  readonly read: (value: unknown, path: DataPath, context: ReadContext) => Value | undefined
}

/** The value in its shape. @throws ModelyardError `config_invalid` with `details.problems` */
export function readShape<Value>(
  shape: Shape<Value>,
  value: unknown,
  options: { directory: string; what: string },
): Value {
  const context: ReadContext = { directory: options.directory, problems: [] }
  const read = shape.read(value, [], context)
  if (context.problems.length > 0) throw shapeError(options.what, context.problems)
  return read as Value
}

/** All problems in one error, the first five in words. */
export function shapeError(what: string, problems: readonly Problem[]): ModelyardError {
  const shown = problems.slice(0, 5).map((problem) => `${what}: ${problemText(problem)}`)
  if (problems.length > 5) shown.push(`… and ${problems.length - 5} more`)
  return new ModelyardError('config_invalid', shown.join('\n'), { details: { problems } })
}

/** `models.qwen.slots must be a number, not text` */
export function problemText(problem: Problem): string {
  return `${pathText(problem.path)} ${problem.message}`.trimStart()
}

/** `models.qwen.script[2].text`; names with other letters in brackets and quotes. */
export function pathText(path: DataPath): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[\w-]+$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step)}]`
  }
  return text
}

/** The kind of a value, in words; never the value itself, which may be a secret or a user's text. */
export function kindOf(value: unknown): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return 'a date'
  if (typeof value === 'object') return 'a map'
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'text'
  if (typeof value === 'boolean') return `${value}`
  return typeof value === 'number' ? 'a number' : typeof value
}

export function report(
  context: ReadContext,
  path: DataPath,
  message: string,
  at: Problem['at'] = 'value',
): undefined {
  context.problems.push({ path, at, message })
  return undefined
}

/** The same shape with words for editors; `fallback` is only told, not filled in. */
export function described<Value>(shape: Shape<Value>, description: string, fallback?: unknown): Shape<Value> {
  const words = fallback === undefined ? { description } : { description, default: fallback }
  return { ...shape, schema: { ...shape.schema, ...words } }
}
