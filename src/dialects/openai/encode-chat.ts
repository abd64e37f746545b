import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result, TokenLogprob } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { chatLogprob, finishReason, timingsObject, usageObject, type AnswerEnvelope } from './usage.ts'
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
    const { id, created, model } = this.#envelope
    this.#answer = JSON.stringify({
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [
        {
          index: 0,
          message: this.#message(),
          logprobs:
            this.#logprobs === undefined ? null : { content: this.#logprobs.map(chatLogprob), refusal: null },
          finish_reason: finishReason(result),
        },
      ],
      usage: usageObject(result.usage),
      timings: timingsObject(result, info),
    })
    return ''
  }

  #message(): Record<string, unknown> {
    const called = this.#toolCalls.size > 0
    return {
      role: 'assistant',
      content: called && this.#text === '' ? null : this.#text,
      ...(this.#reasoning === '' ? {} : { reasoning_content: this.#reasoning }),
      refusal: null,
      ...(called ? { tool_calls: [...this.#toolCalls.values()] } : {}),
    }
  }

  finish(): string {
    return this.#answer
  }
}
