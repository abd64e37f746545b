import { possibleBeginning } from '../possible-beginning.ts'
import type { ElementShape } from '../tool-calls/tool-call-format.ts'
import { HEADER_LIMIT, type CallSink } from './call-sink.ts'
import type { Feed, Reading } from './feed.ts'
import { asJson, isTextSchema } from './read-tagged-call.ts'

/** Elements inside of elements that are read as such; deeper ones are text. */
const DEPTH_LIMIT = 64

/**
 * Reads a call whose every argument is an element of its own name, with further elements inside of objects and lists, and hands it on as
 * JSON. Texts are handed on as they come; all else is told by the tool's schema when it is whole. @returns false when it is no call
 */
export function* readElementCall(feed: Feed, shape: ElementShape, sink: CallSink): Reading<boolean> {
  if (!(yield* feed.takeOf([shape.open]))) return false
  const name = yield* feed.takeUntil(shape.nameEnd, HEADER_LIMIT)
  if (name === undefined || name === '' || !sink.begin(name)) return false
  let before = '{'
  for (;;) {
    yield* feed.skip()
    const argument = yield* takeOpening(feed, shape)
    if (argument === undefined) break
    sink.arguments(`${before}${JSON.stringify(argument)}: `)
    before = ', '
    const schema = sink.schemaOf(name, argument)
    if (isTextSchema(schema)) yield* handOnText(feed, shape, argument, sink)
    else sink.arguments(yield* readElement(feed, shape, { name: argument, schema, depth: 1 }))
  }
  yield* feed.takeOf([shape.close])
  sink.arguments(before === '{' ? '{}' : '}')
  return true
}

/** The name of the element that begins here, if one does. */
function* takeOpening(feed: Feed, { mark, close }: ElementShape): Reading<string | undefined> {
  const next = yield* feed.nextOf([`${mark}<`, `${mark}</`, close])
  if (next !== `${mark}<`) return undefined
  feed.take(next.length)
  return yield* feed.takeUntil('>', HEADER_LIMIT)
}

function* handOnText(feed: Feed, { mark }: ElementShape, name: string, sink: CallSink): Reading {
  const end = `${mark}</${name}>`
  sink.arguments('"')
  for (let isOver = false; !isOver;) {
    const { rest, isEnded } = feed
    const at = rest.indexOf(end)
    isOver = at >= 0 || isEnded
    const held = isEnded ? 0 : possibleBeginning(rest, [end])
    const text = feed.take(at >= 0 ? at : rest.length - held)
    if (text !== '') sink.arguments(JSON.stringify(text).slice(1, -1))
    if (!isOver) yield
  }
  yield* feed.takeOf([end])
  sink.arguments('"')
}

interface Element {
  name: string
  schema: unknown
  depth: number
}

/** An element up to its end, as JSON. */
function* readElement(feed: Feed, shape: ElementShape, element: Element): Reading<string> {
  const inner: [string, string][] = []
  let text = ''
  for (;;) {
    text += yield* textBeforeMark(feed, shape.mark)
    if (yield* feed.takeOf([`${shape.mark}</${element.name}>`])) break
    const name = element.depth < DEPTH_LIMIT ? yield* takeOpening(feed, shape) : undefined
    if (name !== undefined) {
      const schema = innerSchema(element.schema, name)
      inner.push([name, yield* readElement(feed, shape, { name, schema, depth: element.depth + 1 })])
    } else if (feed.rest === '' || (yield* feed.nextOf([shape.close])) !== undefined) break
    else text += feed.take(1)
  }
  return inner.length > 0 ? joined(inner, element.schema) : leaf(text, element.schema)
}

function* textBeforeMark(feed: Feed, mark: string): Reading<string> {
  let text = ''
  for (;;) {
    const { rest } = feed
    const at = rest.indexOf(mark)
    text += feed.take(at >= 0 ? at : rest.length - (feed.isEnded ? 0 : possibleBeginning(rest, [mark])))
    if (at >= 0 || feed.isEnded) return text
    yield
  }
}

function joined(inner: readonly [string, string][], schema: unknown): string {
  const type = typeOf(schema)
  const isList = type === 'array' || (type !== 'object' && inner.every(([name]) => name === 'item'))
  if (isList) return `[${inner.map(([, json]) => json).join(', ')}]`
  return `{${inner.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(', ')}}`
}

function leaf(text: string, schema: unknown): string {
  if (isTextSchema(schema)) return JSON.stringify(text)
  if (text.trim() !== '') return asJson(text.trim())
  return { array: '[]', object: '{}' }[String(typeOf(schema))] ?? '""'
}

function innerSchema(schema: unknown, name: string): unknown {
  if (typeof schema !== 'object' || schema === null) return undefined
  const { items, properties } = schema as { items?: unknown; properties?: unknown }
  if (typeOf(schema) === 'array') return items
  return typeof properties === 'object' && properties !== null
    ? (properties as Record<string, unknown>)[name]
    : undefined
}

function typeOf(schema: unknown): unknown {
  return typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : undefined
}
