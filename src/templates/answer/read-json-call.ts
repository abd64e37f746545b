import { HEADER_LIMIT, type CallSink } from './call-sink.ts'
import type { Feed, Reading } from './feed.ts'
import { readJsonValue, readWholeJson } from './read-json.ts'

const NAMES = new Set(['name', 'tool_name', 'recipient_name'])
const ARGUMENTS = new Set(['arguments', 'parameters', 'args', 'input'])
const IDS = new Set(['id', 'tool_call_id', 'call_id'])

/** What is known of the call so far. */
interface Known {
  name?: string
  id?: string
  isBegun: boolean
  /** Arguments that came before the name. */
  early: string
}

/**
 * Reads `{"name": …, "arguments": {…}}` and its kin, with the call inside of `function` too. Arguments are handed on as they come, once
 * the name is known. @returns false when it is no call
 */
export function* readJsonCall(feed: Feed, sink: CallSink): Reading<boolean> {
  const known: Known = { isBegun: false, early: '' }
  if (!(yield* readMembers(feed, sink, known))) return known.isBegun
  if (known.isBegun) return true
  if (!begin(sink, known)) return false
  sink.arguments(known.early)
  return true
}

/** Reads `{"get_weather": {…}}`. @returns false when it is no call */
export function* readKeyedCall(feed: Feed, sink: CallSink): Reading<boolean> {
  if (!(yield* feed.takeOf(['{']))) return false
  yield* feed.skip()
  const name = yield* readWholeJson(feed)
  yield* feed.skip()
  if (typeof name !== 'string' || !(yield* feed.takeOf([':'])) || !sink.begin(name)) return false
  yield* feed.skip()
  yield* readJsonValue(feed, (text) => sink.arguments(text), sink.ends)
  yield* feed.skip()
  yield* feed.takeOf(['}'])
  return true
}

/** @returns false when the object is broken */
function* readMembers(feed: Feed, sink: CallSink, known: Known): Reading<boolean> {
  if (!(yield* feed.takeOf(['{']))) return false
  for (;;) {
    yield* feed.skip(/[\s,]/)
    if (yield* feed.takeOf(['}'])) return true
    if ((yield* feed.peek()) !== '"') return false
    const key = yield* readWholeJson(feed)
    yield* feed.skip()
    if (typeof key !== 'string' || !(yield* feed.takeOf([':']))) return false
    yield* feed.skip()
    if (!(yield* readMember(key, feed, sink, known))) return false
  }
}

function* readMember(key: string, feed: Feed, sink: CallSink, known: Known): Reading<boolean> {
  if (ARGUMENTS.has(key)) return yield* readArguments(feed, sink, known)
  const first = yield* feed.peek()
  if (key === 'function' && first === '{') return yield* readMembers(feed, sink, known)
  const value = yield* readWholeJson(feed)
  if (value === undefined) return false
  if (typeof value === 'string' && (NAMES.has(key) || key === 'function')) known.name ??= value
  if (IDS.has(key) && (typeof value === 'string' || typeof value === 'number')) known.id ??= String(value)
  return true
}

function* readArguments(feed: Feed, sink: CallSink, known: Known): Reading<boolean> {
  if (known.name === undefined) return yield* readEarlyArguments(feed, known)
  if (known.isBegun) return true
  if (!begin(sink, known)) return false
  if ((yield* feed.peek()) === '"') return yield* readTextArguments(feed, sink)
  return yield* readJsonValue(feed, (text) => sink.arguments(text), sink.ends)
}

function* readEarlyArguments(feed: Feed, known: Known): Reading<boolean> {
  const value = yield* readWholeJson(feed, HEADER_LIMIT)
  if (value === undefined) return false
  known.early = typeof value === 'string' ? value : JSON.stringify(value)
  return true
}

/** Some write the arguments as a text that holds JSON. */
function* readTextArguments(feed: Feed, sink: CallSink): Reading<boolean> {
  const value = yield* readWholeJson(feed, Infinity)
  sink.arguments(typeof value === 'string' ? value : '')
  return true
}

function begin(sink: CallSink, known: Known): boolean {
  if (known.name === undefined) return false
  known.isBegun = sink.begin(known.name, known.id)
  return known.isBegun
}
