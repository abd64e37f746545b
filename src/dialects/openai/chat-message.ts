import type { Part, TokenLogprob } from '../../tasks/part.ts'
import { chatLogprob } from './usage.ts'

interface PlainToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** The message of one choice, gathered from parts. */
export class ChatMessage {
  readonly #toolCalls = new Map<number, PlainToolCall>()
  #text = ''
  #reasoning = ''
  #logprobs: TokenLogprob[] | undefined

  add(part: Part): void {
    if (part.type === 'text') this.#addText(part)
    else if (part.type === 'reasoning') this.#reasoning += part.text
    else if (part.type === 'tool-call') {
      const call = { name: part.name, arguments: '' }
      this.#toolCalls.set(part.index, { id: part.id, type: 'function', function: call })
    } else if (part.type === 'tool-call-arguments') {
      const call = this.#toolCalls.get(part.index)
      if (call !== undefined) call.function.arguments += part.text
    }
  }

  #addText({ text, logprobs }: Part & { type: 'text' }): void {
    this.#text += text
    if (logprobs !== undefined) (this.#logprobs ??= []).push(...logprobs)
  }

  get json(): string {
    const called = this.#toolCalls.size > 0
    const content = called && this.#text === '' ? 'null' : JSON.stringify(this.#text)
    const reasoning = this.#reasoning === '' ? '' : `,"reasoning_content":${JSON.stringify(this.#reasoning)}`
    const calls = called ? `,"tool_calls":${JSON.stringify([...this.#toolCalls.values()])}` : ''
    return `{"role":"assistant","content":${content}${reasoning},"refusal":null${calls}}`
  }

  get logprobsJson(): string {
    if (this.#logprobs === undefined) return 'null'
    return JSON.stringify({ content: this.#logprobs.map(chatLogprob), refusal: null })
  }
}
