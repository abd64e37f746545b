import { isMap } from '../../base/is-map.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { FinishReason, Part } from '../../tasks/part.ts'
import type { CustomBody, CustomEnd, CustomPart } from './engine-definition.ts'

type Check = (value: unknown) => boolean

/** More calls than this no answer has; what keeps them by number must not grow with a number that somebody made up. */
const MOST_CALLS = 1000

const isText: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => Number.isFinite(value)
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isBytes: Check = (value) => value instanceof Uint8Array
const isCall: Check = (value) => isCount(value) && (value as number) < MOST_CALLS

/** What is wrong is told without what was written, and with the engine's name by whoever catches it. What each kind of part cannot be without. */
const FIELDS: { [Type in Exclude<Part['type'], 'started'>]: Record<string, Check> } = {
  text: { text: isText },
  reasoning: { text: isText },
  'tool-call': { index: isCall, id: isText, name: isText },
  'tool-call-arguments': { index: isCall, text: isText },
  vector: { index: isCount, vector: (value) => value instanceof Float32Array },
  score: { index: isCount, score: isNumber },
  label: { index: isCount, label: isText, score: isNumber },
  object: { label: isText, score: isNumber, box: isMap },
  sound: { seconds: isNumber },
  segment: { start: isNumber, end: isNumber, text: isText },
  audio: { data: isBytes },
  image: { index: isCount, mediaType: isText, data: isBytes, width: isCount, height: isCount },
}
const FINISHES: ReadonlySet<unknown> = new Set<FinishReason>([
  'stop',
  'stop-sequence',
  'length',
  'tool-calls',
  'abort',
  'timeout',
])

/** @throws TypeError for a piece that is no text and no part that engines write; what it holds is not told */
export function requirePart(piece: CustomPart): void {
  if (typeof piece === 'string') return
  const type: unknown = isMap(piece) ? piece['type'] : undefined
  if (typeof type !== 'string') throw wrote(`${kindOf(piece)} where a text or a part such as {type, …} goes`)
  if (!Object.hasOwn(FIELDS, type))
    throw wrote(`a part of an unknown type; known are ${Object.keys(FIELDS).join(', ')}`)
  const fields = piece as Readonly<Record<string, unknown>>
  const wrong = Object.entries(FIELDS[type as keyof typeof FIELDS]).find(
    ([name, check]) => !check(fields[name]),
  )
  if (wrong !== undefined) throw wrote(`a part "${type}" whose "${wrong[0]}" is missing or of another kind`)
}

/** @throws TypeError for an end that says what no answer ends with */
export function requireEnd(end: CustomEnd): void {
  const { finishReason, completionTokens, reasoningTokens } = end
  if (finishReason !== undefined && !FINISHES.has(finishReason))
    throw wrote(`an unknown finishReason; known are ${[...FINISHES].join(', ')}`)
  for (const [name, count] of Object.entries({ completionTokens, reasoningTokens }))
    if (count !== undefined && !isCount(count)) throw wrote(`${name} that are no number of tokens`)
}

/** @throws TypeError where `load` gave nothing that runs */
export function requireBody(body: CustomBody): CustomBody {
  const loaded: unknown = body
  if (isObject(loaded) && typeof loaded['run'] === 'function') return body
  throw new TypeError(`its "load" must return an object with a function "run", not ${kindOf(body)}.`)
}

/** @throws TypeError where `run` is none of the functions that write pieces */
export function requirePieces<Pieces>(pieces: Pieces): Pieces {
  if (isObject(pieces) && typeof pieces['next'] === 'function') return pieces
  throw new TypeError(
    `its "run" must be an async generator ("async *run(task) { yield … }"), and returned ${kindOf(pieces)}.`,
  )
}

/** @throws TypeError for what is no number of tokens: limits would not hold */
export function requireTokens(count: number): number {
  if (isCount(count)) return count
  throw new TypeError('its "countTokens" must return a whole number from 0 on.')
}

/** @throws TypeError for what are no bytes: the ledger would be wrong for all models */
export function requireMeasure(measured: MeasuredFootprint): MeasuredFootprint {
  const domains: unknown[] = isMap(measured) ? Object.values(measured) : [undefined]
  const isWhole = domains.every(
    (bytes) => isMap(bytes) && isCount(bytes['private']) && isCount(bytes['shared']),
  )
  if (isWhole) return measured
  throw new TypeError(
    'its "memory" must return {ram: {private, shared}}, each a whole number of bytes from 0 on.',
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return value === undefined ? 'nothing' : `a value of type ${typeof value}`
}

function wrote(what: string): TypeError {
  return new TypeError(`it wrote ${what}.`)
}
