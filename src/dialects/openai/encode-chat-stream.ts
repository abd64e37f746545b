import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { WholeText } from '../whole-text.ts'
import { DONE, EVENT_STREAM, eventData, HEARTBEAT } from './event-data.ts'
import { encodeStreamError } from './encode-error.ts'
import {
  chatLogprob,
  envelopeJson,
  finishReason,
  originJson,
  timingsJson,
  usageJson,
  type AnswerEnvelope,
} from './usage.ts'

/** A chat answer as `chat.completion.chunk` events; the text around each delta is made once. */
export class ChatStream implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = EVENT_STREAM
  readonly heartbeat: string = HEARTBEAT
  readonly fail: RunEncoder['fail'] = encodeStreamError
  readonly #includeUsage: boolean
  readonly #head: string
  readonly #open: string
  readonly #text = new WholeText()
  readonly #reasoning = new WholeText()
  #headersWentEarly = false

  constructor(envelope: AnswerEnvelope, includeUsage: boolean) {
    this.#includeUsage = includeUsage
    this.#head = envelopeJson(envelope, 'chat.completion.chunk')
    // With usage asked for, all chunks but the last carry a null one (API reference).
    this.#open = includeUsage ? ',"usage":null' : ''
  }

  headersWentEarly(): void {
    this.#headersWentEarly = true
  }

  #chunk(delta: string, logprobs = 'null'): string {
    return `data: ${this.#head},"choices":[{"index":0,"delta":${delta},"logprobs":${logprobs},"finish_reason":null}]${this.#open}}\n\n`
  }

  part(part: Part): string {
    switch (part.type) {
      case 'started':
        return this.#chunk('{"role":"assistant","content":""}')
      case 'text':
        return this.#textChunk(this.#text.push(part.text), part)
      case 'reasoning':
        return this.#reasoningChunk(this.#reasoning.push(part.text))
      case 'tool-call':
        return this.#toolCallChunk(part)
      case 'tool-call-arguments':
        return this.#toolChunk(part.index, `"function":{"arguments":${JSON.stringify(part.text)}}`)
      default:
        return ''
    }
  }

  #textChunk(text: string, { logprobs }: { logprobs?: (Part & { type: 'text' })['logprobs'] }): string {
    if (logprobs !== undefined) {
      const content = JSON.stringify({ content: logprobs.map(chatLogprob), refusal: null })
      return this.#chunk(`{"content":${JSON.stringify(text)}}`, content)
    }
    return text === '' ? '' : this.#chunk(`{"content":${JSON.stringify(text)}}`)
  }

  #reasoningChunk(text: string): string {
    return text === '' ? '' : this.#chunk(`{"reasoning_content":${JSON.stringify(text)}}`)
  }

  /** id, type and name come once, in the first fragment (BR-03). */
  #toolCallChunk({ index, id, name }: Part & { type: 'tool-call' }): string {
    const call = `"id":${JSON.stringify(id)},"type":"function","function":{"name":${JSON.stringify(name)},"arguments":""}`
    return this.#toolChunk(index, call)
  }

  #toolChunk(index: number, call: string): string {
    return this.#chunk(`{"tool_calls":[{"index":${index},${call}}]}`)
  }

  end(result: Result, _task: number, info: RunInfo): string {
    const rest = this.#reasoningChunk(this.#reasoning.end()) + this.#textChunk(this.#text.end(), {})
    const choice = `{"index":0,"delta":{},"logprobs":null,"finish_reason":"${finishReason(result)}"}`
    const timings = timingsJson(result, info)
    const last = eventData(`${this.#head},"choices":[${choice}]${this.#open},"timings":${timings}}`)
    return rest + last + (this.#includeUsage ? this.#usageChunk(result, info) : '')
  }

  /** Exactly one, after the finish chunk, without choices (BR-01). */
  #usageChunk(result: Result, info: RunInfo): string {
    const usage = usageJson(result.usage, this.#headersWentEarly ? originJson(info) : '')
    return eventData(`${this.#head},"choices":[],"usage":${usage}}`)
  }

  finish(): string {
    return DONE
  }
}
