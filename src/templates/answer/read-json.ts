import { HEADER_LIMIT } from './call-sink.ts'
import type { Feed, Reading } from './feed.ts'

/** Where in a JSON text a reader is. */
interface Place {
  depth: number
  inText: boolean
  escaped: boolean
}

/**
 * Reads one JSON value as it stands and hands it on as it comes. What is no JSON ends with its brackets, or where one of `ends` stands
 * outside of a text. @returns false when nothing was there
 */
export function* readJsonValue(
  feed: Feed,
  onPiece: (text: string) => void,
  ends: readonly string[] = [],
): Reading<boolean> {
  const first = yield* feed.peek()
  if (first === '') return false
  const isScalar = first !== '{' && first !== '[' && first !== '"'
  const place: Place = { depth: 0, inText: false, escaped: false }
  for (;;) {
    const { rest } = feed
    let index = 0
    for (; index < rest.length; index++) {
      const unit = rest.charAt(index)
      if (!place.inText && isEnd(unit, ends, isScalar && place.depth === 0)) {
        if (index > 0) onPiece(feed.take(index))
        if (isScalar && /[\s,\]}]/.test(unit)) return true
        if ((yield* feed.nextOf(ends)) !== undefined) return true
        break
      }
      if (advance(place, unit) && !isScalar) {
        onPiece(feed.take(index + 1))
        return true
      }
    }
    if (index === rest.length) {
      if (rest !== '') onPiece(feed.take(rest.length))
      if (feed.isEnded) return true
      yield
    } else onPiece(feed.take(1))
  }
}

function isEnd(unit: string, ends: readonly string[], isScalar: boolean): boolean {
  return (isScalar && /[\s,\]}]/.test(unit)) || ends.some((end) => end.startsWith(unit))
}

/** @returns whether the value ends with this unit */
function advance(place: Place, unit: string): boolean {
  if (place.inText) {
    if (place.escaped) place.escaped = false
    else if (unit === '\\') place.escaped = true
    else if (unit === '"') place.inText = false
    return !place.inText && place.depth === 0
  }
  if (unit === '"') place.inText = true
  else if (unit === '{' || unit === '[') place.depth++
  else if (unit === '}' || unit === ']') place.depth--
  return place.depth <= 0 && !place.inText && (unit === '}' || unit === ']')
}

/** A whole JSON value; undefined when it is longer than `most`, or not JSON. */
export function* readWholeJson(feed: Feed, most: number = HEADER_LIMIT): Reading<unknown> {
  let text = ''
  const reading = readJsonValue(feed, (piece) => {
    text += piece
  })
  for (let step = reading.next(); step.done !== true; step = reading.next()) {
    if (text.length > most) return undefined
    yield
  }
  return text.length > most ? undefined : parsed(text)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
