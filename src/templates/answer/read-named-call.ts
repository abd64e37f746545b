import type { NamedShape } from '../tool-calls/tool-call-format.ts'
import { HEADER_LIMIT, type CallSink } from './call-sink.ts'
import type { Feed, Reading } from './feed.ts'
import { readJsonValue } from './read-json.ts'

/** Reads a name, whatever stands between, and the arguments as JSON. @returns false when it is no call */
export function* readNamedCall(feed: Feed, shape: NamedShape, sink: CallSink): Reading<boolean> {
  if (shape.open !== undefined) yield* feed.takeOf([shape.open])
  const header = yield* takeHeader(feed)
  const found = header === undefined ? null : shape.header.exec(header)
  const { name, id } = found?.groups ?? {}
  if (name === undefined || !sink.begin(name, id)) return false
  yield* readJsonValue(feed, (text) => sink.arguments(text), [...shape.closes, ...sink.ends])
  for (const close of shape.closes) {
    if (yield* feed.takeOf([close])) break
  }
  return true
}

/** What stands before the first brace. */
function* takeHeader(feed: Feed): Reading<string | undefined> {
  for (;;) {
    const end = feed.rest.indexOf('{')
    if (end >= 0) return end > HEADER_LIMIT ? undefined : feed.take(end)
    if (feed.rest.length > HEADER_LIMIT || feed.isEnded) return undefined
    yield
  }
}
