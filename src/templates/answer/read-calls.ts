import type { ToolCallFormat } from '../tool-calls/tool-call-format.ts'
import type { CallSink } from './call-sink.ts'
import type { Feed, Reading } from './feed.ts'
import { readElementCall } from './read-element-call.ts'
import { readJsonCall, readKeyedCall } from './read-json-call.ts'
import { readLiteralCall } from './read-literal-call.ts'
import { readNamedCall } from './read-named-call.ts'
import { readTaggedCall } from './read-tagged-call.ts'

/**
 * Reads calls from the marker that begins them to the end of the last. @returns what was taken and is no call: the marker with what follows,
 * or what stands where another call should
 */
export function* readCalls(
  feed: Feed,
  marker: string,
  format: ToolCallFormat,
  sink: CallSink,
): Reading<string> {
  feed.record()
  feed.take(marker.length)
  const isList = !['named', 'tagged', 'elements'].includes(format.shape.body)
  for (let count = 0; ; count++) {
    yield* feed.skip(isList ? /[\s,[\]]/ : /\s/)
    const isOver = count > 0 && ((yield* feed.takeOf(format.ends)) || !(yield* isAnother(feed, format)))
    if (isOver) break
    if (!(yield* readCall(feed, format, sink))) return feed.stopRecording()
    sink.end()
    if (sink.isDone) return ''
    feed.record()
  }
  feed.stopRecording()
  return ''
}

/** Whether another call follows within the same markers. */
function* isAnother(feed: Feed, { shape, ends }: ToolCallFormat): Reading<boolean> {
  if (shape.body === 'json' || shape.body === 'keyed-json') return (yield* feed.peek()) === '{'
  if (shape.body === 'literal') return ends.length > 0 && /\w/.test(yield* feed.peek())
  const { open = '' } = shape
  return open !== '' && (yield* feed.nextOf([open])) !== undefined
}

function* readCall(feed: Feed, { shape }: ToolCallFormat, sink: CallSink): Reading<boolean> {
  if (shape.body === 'keyed-json') return yield* readKeyedCall(feed, sink)
  if (shape.body === 'named') return yield* readNamedCall(feed, shape, sink)
  // A call that was forced is written as JSON also where the model itself would use tags.
  if (shape.body === 'elements' && (yield* feed.peek()) !== '{')
    return yield* readElementCall(feed, shape, sink)
  if (shape.body === 'json' || shape.body === 'elements' || (yield* feed.peek()) === '{')
    return yield* readJsonCall(feed, sink)
  return shape.body === 'literal'
    ? yield* readLiteralCall(feed, shape, sink)
    : yield* readTaggedCall(feed, shape, sink)
}
