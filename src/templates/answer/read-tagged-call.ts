import { possibleBeginning } from '../possible-beginning.ts'
import type { TaggedShape } from '../tool-calls/tool-call-format.ts'
import { HEADER_LIMIT, type CallSink } from './call-sink.ts'
import type { Feed, Reading } from './feed.ts'

/**
 * Reads a call whose every argument stands between tags, and hands it on as JSON. Texts are handed on as they come; all else is told
 * from texts by the tool's schema when it is whole. @returns false when it is no call
 */
export function* readTaggedCall(feed: Feed, shape: TaggedShape, sink: CallSink): Reading<boolean> {
  if (!(yield* feed.takeOf([shape.open]))) return false
  const name = yield* takeName(feed, shape, sink.ends)
  if (name === undefined || name === '' || !sink.begin(name)) return false
  let count = 0
  for (;;) {
    yield* feed.skip()
    if (!(yield* feed.takeOf([shape.argumentOpen]))) break
    const header = yield* feed.takeUntil(shape.argumentNameEnd, HEADER_LIMIT)
    if (header === undefined) break
    const argument = unquoted(header)
    sink.arguments(`${count === 0 ? '{' : ', '}${JSON.stringify(argument)}: `)
    count++
    yield* feed.takeOf([...(shape.argumentValueOpen ?? []), '\n'])
    yield* readValue(feed, shape, sink, isText(header, sink.schemaOf(name, argument)))
  }
  yield* feed.takeOf([shape.close])
  sink.arguments(count === 0 ? '{}' : '}')
  return true
}

/** The name ends with its tag, or where the first argument or the end of the call stands. */
function* takeName(feed: Feed, shape: TaggedShape, ends: readonly string[]): Reading<string | undefined> {
  const others = shape.nameEnd === '\n' ? [shape.argumentOpen, ...ends] : []
  const stops = [shape.nameEnd, ...others]
  for (;;) {
    const { rest } = feed
    const found = stops.map((stop) => rest.indexOf(stop)).filter((end) => end >= 0)
    if (found.length > 0) {
      const name = feed.take(Math.min(...found))
      yield* feed.takeOf([shape.nameEnd])
      return name.length > HEADER_LIMIT || /[{<]/.test(name) ? undefined : unquoted(name).trim()
    }
    if (rest.length > HEADER_LIMIT || feed.isEnded) return undefined
    yield
  }
}

/** `city" string="true` → `city`. */
function unquoted(header: string): string {
  const [name = ''] = header.split('"')
  return name
}

function* readValue(feed: Feed, shape: TaggedShape, sink: CallSink, asText: boolean): Reading {
  let whole = ''
  if (asText) sink.arguments('"')
  for (;;) {
    const { rest } = feed
    const end = rest.indexOf(shape.argumentClose)
    const isOver = end >= 0 || feed.isEnded
    const until = end >= 0 ? end : rest.length - (feed.isEnded ? 0 : heldBack(rest, shape.argumentClose))
    const piece = feed.take(until)
    const text = isOver && end >= 0 && shape.spacedValues ? piece.replace(/\n$/, '') : piece
    if (asText && text !== '') sink.arguments(JSON.stringify(text).slice(1, -1))
    else whole += text
    if (isOver) break
    yield
  }
  yield* feed.takeOf([shape.argumentClose])
  sink.arguments(asText ? '"' : asJson(whole.trim()))
}

/** Units at the end that may belong to the closing tag, or to the line break before it. */
function heldBack(text: string, close: string): number {
  const length = possibleBeginning(text, [close])
  if (length > 0) return length + (text.at(-1 - length) === '\n' ? 1 : 0)
  if (text.endsWith('\n')) return 1
  // Half of a character that two units make is no text yet.
  return /[\uD800-\uDBFF]$/.test(text) ? 1 : 0
}

function isText(header: string, schema: unknown): boolean {
  if (/\b(?:string="true"|type="string")/.test(header)) return true
  if (/\b(?:string="false"|type=")/.test(header)) return false
  return isTextSchema(schema)
}

/** Whether a JSON Schema is one of texts. */
export function isTextSchema(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'string'
}

/** What a model wrote for a value, as JSON: JSON, a word of Python, or else a text. */
export function asJson(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    const literal = { True: 'true', False: 'false', None: 'null' }[text]
    return literal ?? JSON.stringify(text)
  }
}
