import type { Result } from '../../tasks/part.ts'
import { soundFormatOf } from '../../tasks/sound-format.ts'
import type { AudioFormat } from '../../tasks/speech-task.ts'
import { refusalText } from '../bounded-body.ts'
import { parseMap } from '../../base/is-map.ts'
import type { AnswerReader, IncomingAnswer } from './answer-reader.ts'
import { broken } from './reply-document.ts'
import { errorAsAnswer, unreadable } from './upstream-error.ts'
import { wavLength } from './wav-length.ts'
import { UNKNOWN_USAGE } from './wire-answer.ts'

/** Bytes by which formats are told apart. */
const SIGN = 12

const NOTHING = Buffer.alloc(0)

/** Sound, byte for byte as it comes. */
export class SoundReader implements AnswerReader {
  readonly #incoming: IncomingAnswer
  readonly #format: AudioFormat
  readonly #contentType: string
  readonly #begun: number
  #first: number | undefined
  #head: Buffer = NOTHING
  #bytes = 0

  /** @param contentType of the answer, as it was sent; empty = none was */
  constructor(incoming: IncomingAnswer, format: AudioFormat, contentType: string) {
    this.#incoming = incoming
    this.#format = format
    this.#contentType = contentType
    this.#begun = incoming.clock.now()
  }

  async read(): Promise<boolean> {
    const { body, onMoved } = this.#incoming
    if (/^(application\/json|text\/)/i.test(this.#contentType)) throw await this.#noSound()
    const hasMore = await body.arrival()
    const bytes = (hasMore ? body.take() : undefined) ?? NOTHING
    if (hasMore) onMoved()
    this.#bytes += bytes.length
    if (this.#first === undefined) this.#begin(bytes, hasMore)
    else if (bytes.length > 0) this.#incoming.parts.push({ type: 'audio', data: bytes })
    return hasMore
  }

  /** R12: a sound that says its length has all of it, one that does not has at least begun, and no sample is cut. */
  result(): Result {
    const { body, clock, model } = this.#incoming
    body.finish()
    // A byte that fills the last chunk up is left out by some.
    const least = (wavLength(this.#head) ?? 1) - 1
    const isCut = this.#bytes < least || (this.#format === 'pcm' && this.#bytes % 2 === 1)
    if (this.#first === undefined || isCut) throw broken(model)
    const timings = { prefill: this.#first - this.#begun, decode: clock.now() - this.#first }
    return { finishReason: 'stop', usage: UNKNOWN_USAGE, timings }
  }

  #begin(bytes: Buffer, hasMore: boolean): void {
    const { parts, clock } = this.#incoming
    this.#head = Buffer.concat([this.#head, bytes])
    if (this.#head.length === 0 || (hasMore && this.#head.length < SIGN)) return
    this.#checkFormat()
    this.#first = clock.now()
    parts.push({ type: 'started', promptTokens: 0, cachedTokens: 0 }, { type: 'audio', data: this.#head })
  }

  /** Some endpoints have one format, whatever they are asked for. PCM has no sign; what looks like a frame of MP3 may be samples. */
  #checkFormat(): void {
    const found = soundFormatOf(this.#head)
    const isRight = this.#format === 'pcm' ? found === undefined || found === 'mp3' : found === this.#format
    if (isRight) return
    throw unreadable(this.#incoming.model, `${found ?? 'no known sound'} where ${this.#format} was asked for`)
  }

  async #noSound(): Promise<Error> {
    const { body, model } = this.#incoming
    const document = parseMap(await refusalText(body)) ?? {}
    return errorAsAnswer(model, document) ?? unreadable(model, `${this.#contentType} instead of a sound`)
  }
}
