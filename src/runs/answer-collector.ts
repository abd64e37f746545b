import type { Message, ToolCall } from '../tasks/message.ts'
import type { Part } from '../tasks/part.ts'

/** Gathers the parts of an answer into the message that a next turn would send back. */
export class AnswerCollector {
  #text = ''
  #reasoning = ''
  /** By number, which an engine makes up: nothing may grow with it. */
  readonly #calls = new Map<number, ToolCall>()
  #pieces = 0

  /** Parts seen: an estimate of the tokens of an answer that was cut short. */
  get pieces(): number {
    return this.#pieces
  }

  get text(): string {
    return this.#text
  }

  add(part: Part): void {
    if (part.type === 'started') return
    this.#pieces++
    if (part.type === 'text') this.#text += part.text
    else if (part.type === 'reasoning') this.#reasoning += part.text
    else if (part.type === 'tool-call')
      this.#calls.set(part.index, { id: part.id, name: part.name, arguments: '' })
    else if (part.type === 'tool-call-arguments') this.#addArguments(part.index, part.text)
  }

  message(): Message & { role: 'assistant' } {
    return {
      role: 'assistant',
      content: this.#text,
      ...(this.#reasoning === '' ? {} : { reasoning: this.#reasoning }),
      ...(this.#calls.size === 0 ? {} : { toolCalls: [...this.#calls.values()] }),
    }
  }

  #addArguments(index: number, text: string): void {
    const call = this.#calls.get(index)
    if (call !== undefined) call.arguments += text
  }
}
