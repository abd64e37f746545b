import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import { NO_USAGE, type Usage } from '../../tasks/usage.ts'
import type { RunEncoder } from '../dialect.ts'
import { WholeText } from '../whole-text.ts'
import { completionLogprobs } from './completion-logprobs.ts'
import { encodeStreamError } from './encode-error.ts'
import { DONE, EVENT_STREAM, eventData, HEARTBEAT } from './event-data.ts'
import {
  addUsage,
  envelopeJson,
  finishReason,
  originJson,
  timingsJson,
  usageJson,
  type AnswerEnvelope,
} from './usage.ts'

/** Completions as `text_completion` events; with several prompts, one choice after the other. */
export class CompletionStream implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = EVENT_STREAM
  readonly heartbeat: string = HEARTBEAT
  readonly fail: RunEncoder['fail'] = encodeStreamError
  readonly #includeUsage: boolean
  readonly #head: string
  readonly #open: string
  readonly #text = new WholeText()
  #offset = 0
  #usage: Usage = NO_USAGE
  #info: RunInfo | undefined
  #headersWentEarly = false

  constructor(envelope: AnswerEnvelope, includeUsage: boolean) {
    this.#includeUsage = includeUsage
    this.#head = envelopeJson(envelope, 'text_completion')
    this.#open = includeUsage ? ',"usage":null' : ''
  }

  headersWentEarly(): void {
    this.#headersWentEarly = true
  }

  #chunk(task: number, text: string, logprobs: string, reason = 'null', more = ''): string {
    const choice = `{"text":${JSON.stringify(text)},"index":${task},"logprobs":${logprobs},"finish_reason":${reason}}`
    return `data: ${this.#head},"choices":[${choice}]${this.#open}${more}}\n\n`
  }

  part(part: Part, task: number): string {
    if (part.type !== 'text') return ''
    const text = this.#text.push(part.text)
    if (text === '' && part.logprobs === undefined) return ''
    const logprobs = part.logprobs === undefined ? 'null' : JSON.stringify(this.#logprobs(part.logprobs))
    this.#offset += part.text.length
    return this.#chunk(task, text, logprobs)
  }

  #logprobs(entries: NonNullable<(Part & { type: 'text' })['logprobs']>): unknown {
    return completionLogprobs(entries, this.#offset)
  }

  end(result: Result, task: number, info: RunInfo): string {
    this.#usage = addUsage(this.#usage, result.usage)
    this.#info = info
    this.#offset = 0
    const timings = `,"timings":${timingsJson(result, info)}`
    return this.#chunk(task, this.#text.end(), 'null', `"${finishReason(result)}"`, timings)
  }

  finish(): string {
    if (!this.#includeUsage) return DONE
    const origin = this.#headersWentEarly && this.#info !== undefined ? originJson(this.#info) : ''
    return eventData(`${this.#head},"choices":[],"usage":${usageJson(this.#usage, origin)}}`) + DONE
  }
}
