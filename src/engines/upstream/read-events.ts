import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { ModelyardError } from '../../base/errors.ts'
import type { WireChunk } from './wire-answer.ts'

/** Longest event that is read: a stream without line ends must not fill the memory. */
const LONGEST_EVENT = 16 * 1024 * 1024

/** The JSON of each event until `[DONE]`. @returns true when `[DONE]` came @throws ModelyardError `engine_failed` for what is no JSON */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<WireChunk, boolean, void> {
  const waiting: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => waiting.push(event) })
  const decoder = new TextDecoder()
  let since = 0
  for await (const bytes of body) {
    since += bytes.length
    parser.feed(decoder.decode(bytes, { stream: true }))
    if (waiting.length > 0) since = 0
    if (since > LONGEST_EVENT) throw unreadable('an event longer than 16 MiB')
    for (const { data } of waiting.splice(0)) {
      if (data === '[DONE]') return true
      yield parsed(data)
    }
  }
  return false
}

function parsed(data: string): WireChunk {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Told below: its text is not, for it may be a user's.
  }
  throw unreadable('an event that is no JSON object')
}

function unreadable(what: string): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    `The upstream sent ${what}; is its address the beginning of an OpenAI API?`,
  )
}
