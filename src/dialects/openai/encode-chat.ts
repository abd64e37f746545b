import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result, TokenLogprob } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import {
  chatLogprob,
  envelopeJson,
  finishReason,
  timingsJson,
  usageJson,
  type AnswerEnvelope,
} from './usage.ts'
import { encodeError } from './encode-error.ts'

interface PlainToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** A chat answer in one piece. */
export class ChatAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #envelope: AnswerEnvelope
  readonly #toolCalls = new Map<number, PlainToolCall>()
  #text = ''
  #reasoning = ''
  #logprobs: TokenLogprob[] | undefined
  #answer = ''

  constructor(envelope: AnswerEnvelope) {
    this.#envelope = envelope
  }

  part(part: Part): string {
    if (part.type === 'text') this.#addText(part)
    else if (part.type === 'reasoning') this.#reasoning += part.text
    else if (part.type === 'tool-call') {
      const call = { name: part.name, arguments: '' }
      this.#toolCalls.set(part.index, { id: part.id, type: 'function', function: call })
    } else if (part.type === 'tool-call-arguments') {
      const call = this.#toolCalls.get(part.index)
      if (call !== undefined) call.function.arguments += part.text
    }
    return ''
  }

  #addText({ text, logprobs }: Part & { type: 'text' }): void {
    this.#text += text
    if (logprobs !== undefined) (this.#logprobs ??= []).push(...logprobs)
  }

  end(result: Result, _task: number, info: RunInfo): string {
    const choice = `{"index":0,"message":${this.#message()},"logprobs":${this.#logprobsJson()},"finish_reason":"${finishReason(result)}"}`
    const usage = `"usage":${usageJson(result.usage)},"timings":${timingsJson(result, info)}`
    this.#answer = `${envelopeJson(this.#envelope, 'chat.completion')},"choices":[${choice}],${usage}}`
    return ''
  }

  #message(): string {
    const called = this.#toolCalls.size > 0
    const content = called && this.#text === '' ? 'null' : JSON.stringify(this.#text)
    const reasoning = this.#reasoning === '' ? '' : `,"reasoning_content":${JSON.stringify(this.#reasoning)}`
    const calls = called ? `,"tool_calls":${JSON.stringify([...this.#toolCalls.values()])}` : ''
    return `{"role":"assistant","content":${content}${reasoning},"refusal":null${calls}}`
  }

  #logprobsJson(): string {
    if (this.#logprobs === undefined) return 'null'
    return JSON.stringify({ content: this.#logprobs.map(chatLogprob), refusal: null })
  }

  finish(): string {
    return this.#answer
  }
}
