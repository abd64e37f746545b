import type { Part } from '../../../tasks/part.ts'
import type { RunEncoder } from '../../dialect.ts'
import { encodeError } from '../encode-error.ts'
import { DONE, EVENT_STREAM, eventData, HEARTBEAT } from '../event-data.ts'
import { subtitles, type Segment } from './subtitles.ts'

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const

export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]

const TYPES: Record<TranscriptFormat, string> = {
  json: 'application/json',
  verbose_json: 'application/json',
  text: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
}

/** A whole transcript in the form that was asked for. */
export class TranscriptionAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType: string
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #format: TranscriptFormat
  readonly #translate: boolean
  readonly #segments: Segment[] = []
  #seconds = 0
  #language: string | undefined

  constructor(format: TranscriptFormat, translate: boolean) {
    this.contentType = TYPES[format]
    this.#format = format
    this.#translate = translate
  }

  part(part: Part): string {
    if (part.type === 'segment') this.#segments.push(part)
    if (part.type === 'sound') {
      this.#seconds = part.seconds
      this.#language = part.language
    }
    return ''
  }

  end(): string {
    return ''
  }

  finish(): string {
    const text = textOf(this.#segments)
    if (this.#format === 'text') return `${text}\n`
    if (this.#format === 'srt' || this.#format === 'vtt') return subtitles(this.#segments, this.#format)
    const usage = { type: 'duration', seconds: Math.ceil(this.#seconds) }
    if (this.#format === 'json') return JSON.stringify({ text, usage })
    return JSON.stringify({
      task: this.#translate ? 'translate' : 'transcribe',
      language: this.#language,
      duration: this.#seconds,
      text,
      segments: this.#segments.map(({ start, end, text: said }, id) => ({ id, start, end, text: said })),
      usage,
    })
  }
}

/** Segments as they are heard: `transcript.text.delta`, then `transcript.text.done`. */
export class TranscriptionStream implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = EVENT_STREAM
  readonly heartbeat: string = HEARTBEAT
  readonly #segments: Segment[] = []
  #seconds = 0

  part(part: Part): string {
    if (part.type === 'sound') this.#seconds = part.seconds
    if (part.type !== 'segment') return ''
    const delta = this.#segments.length === 0 ? part.text.trimStart() : part.text
    this.#segments.push(part)
    return eventData(JSON.stringify({ type: 'transcript.text.delta', delta }))
  }

  end(): string {
    const usage = { type: 'duration', seconds: Math.ceil(this.#seconds) }
    return eventData(JSON.stringify({ type: 'transcript.text.done', text: textOf(this.#segments), usage }))
  }

  finish(): string {
    return DONE
  }

  readonly fail: RunEncoder['fail'] = (error, status) => eventData(encodeError(error, status)) + DONE
}

function textOf(segments: readonly Segment[]): string {
  return segments
    .map(({ text }) => text)
    .join('')
    .trim()
}
