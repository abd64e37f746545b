import type { LiteralShape } from '../tool-calls/tool-call-format.ts'
import { HEADER_LIMIT, type CallSink } from './call-sink.ts'
import type { Feed, Reading } from './feed.ts'
import { literalToJson } from './literal-to-json.ts'

/**
 * Reads `get_weather(city="Rome", days=3)` or `call:get_weather{city:<|"|>Rome<|"|>,days:3}` and hands the arguments on as JSON, one by
 * one. @returns false when it is no call
 */
export function* readLiteralCall(feed: Feed, shape: LiteralShape, sink: CallSink): Reading<boolean> {
  const header = yield* feed.takeUntil(shape.open, HEADER_LIMIT)
  const { name } = (header === undefined ? null : shape.header.exec(header))?.groups ?? {}
  if (name === undefined || !sink.begin(name)) return false
  let count = 0
  for (;;) {
    yield* feed.skip(/[\s,]/)
    if ((yield* feed.takeOf([shape.close])) || (yield* feed.peek()) === '') break
    const argument = yield* readArgument(feed, shape)
    const end = argument.search(shape.assign)
    if (end > 0) {
      const value = literalToJson(argument.slice(end + 1).trim(), shape)
      sink.arguments(`${count === 0 ? '{' : ', '}${JSON.stringify(keyOf(argument.slice(0, end)))}: ${value}`)
      count++
    }
  }
  sink.arguments(count === 0 ? '{}' : '}')
  return true
}

function keyOf(written: string): string {
  return written.trim().replaceAll(/^["']|["']$/g, '')
}

/** Up to the next comma or the end of the call, brackets and texts kept together. */
function* readArgument(feed: Feed, shape: LiteralShape): Reading<string> {
  let argument = ''
  let depth = 0
  let quote: string | undefined
  for (;;) {
    const unit = yield* feed.peek()
    if (unit === '') return argument
    if (quote === undefined) {
      const opened = yield* feed.nextOf(shape.quotes)
      if (opened === undefined && depth === 0 && (unit === ',' || unit === shape.close)) return argument
      if (opened !== undefined) quote = opened
      else if ('([{'.includes(unit)) depth++
      else if (')]}'.includes(unit)) depth--
      argument += feed.take(opened?.length ?? 1)
      continue
    }
    if (unit === '\\' && quote.length === 1) argument += feed.take((yield* feed.peek(2)).length)
    else if (yield* feed.takeOf([quote])) {
      argument += quote
      quote = undefined
    } else argument += feed.take(1)
  }
}
