import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { ModelyardError } from '../../base/errors.ts'
import type { Part } from '../../tasks/part.ts'
import { AlikeEvents, type AlikePiece } from './alike-events.ts'
import type { WireAnswer, WireChunk } from './wire-answer.ts'

/** Longest event that is read: a stream without line ends must not fill the memory. */
const LONGEST_EVENT = 16 * 1024 * 1024

/** Reads the events of a stream until `[DONE]`, and what they say. */
export class EventReader {
  #waiting: string[] = []
  readonly #parser = createParser({ onEvent: ({ data }) => this.#waiting.push(data) })
  readonly #decoder = new StringDecoder('utf8')
  readonly #alike = new AlikeEvents()
  readonly #answer: WireAnswer
  #since = 0
  #isDone = false

  constructor(answer: WireAnswer) {
    this.#answer = answer
  }

  /** Whether `[DONE]` came. */
  get isDone(): boolean {
    return this.#isDone
  }

  /** Adds the parts of what is whole with these bytes. @throws ModelyardError `engine_failed` for what is no JSON, in its place */
  read(bytes: Buffer, parts: Part[]): void {
    this.#since += bytes.length
    this.#parser.feed(this.#decoder.write(bytes))
    if (this.#waiting.length > 0) this.#since = 0
    if (this.#since > LONGEST_EVENT) throw unreadable('an event longer than 16 MiB')
    const events = this.#waiting
    this.#waiting = []
    for (const data of events) {
      this.#isDone ||= data === '[DONE]'
      if (this.#isDone) return
      this.#readEvent(data, parts)
    }
  }

  #readEvent(data: string, parts: Part[]): void {
    const alike = this.#alike.pieceOf(data)
    if (alike !== undefined) {
      if (alike.text !== '') parts.push(alike)
      return
    }
    const read = this.#answer.read(parsed(data))
    parts.push(...read)
    const piece = onlyPiece(read)
    if (piece !== undefined) this.#alike.learn(data, piece)
  }
}

/** The one piece of plain text in them, behind the beginning or alone. */
function onlyPiece(parts: readonly Part[]): AlikePiece | undefined {
  const [part, ...more] = parts[0]?.type === 'started' ? parts.slice(1) : parts
  if (part === undefined || more.length > 0) return undefined
  if (part.type === 'reasoning') return part
  return part.type === 'text' && part.logprobs === undefined ? part : undefined
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
