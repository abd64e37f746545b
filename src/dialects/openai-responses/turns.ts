import type { ContentPart, Message, ToolCall } from '../../tasks/message.ts'

type Content = string | ContentPart[]
type Assistant = Message & { role: 'assistant' }

/**
 * A conversation made of items. The API tells a turn of the model as several items (thought, text, calls); models know it as one
 * message, so what follows each other is put together again.
 */
export class Turns {
  readonly messages: Message[] = []
  readonly #names = new Map<string, string>()
  /** The model's turn that the next item may belong to. */
  #open: Assistant | undefined

  say(role: 'system' | 'user', content: Content): void {
    this.#open = undefined
    this.messages.push({ role, content })
  }

  think(text: string): void {
    const turn = this.#turn((open) => open.content === '' && open.toolCalls === undefined)
    turn.reasoning = (turn.reasoning ?? '') + text
  }

  answer(content: Content): void {
    this.#turn((open) => open.content === '' && open.toolCalls === undefined).content = content
  }

  call(call: ToolCall): void {
    const turn = this.#turn(() => true)
    turn.toolCalls = [...(turn.toolCalls ?? []), call]
    this.#names.set(call.id, call.name)
  }

  /** The result of a call; its function's name is that of the call, where the call is there. */
  result(toolCallId: string, content: Content): void {
    this.#open = undefined
    const name = this.#names.get(toolCallId)
    this.messages.push({ role: 'tool', content, toolCallId, ...(name === undefined ? {} : { name }) })
  }

  #turn(belongs: (open: Assistant) => boolean): Assistant {
    if (this.#open !== undefined && belongs(this.#open)) return this.#open
    this.#open = { role: 'assistant', content: '' }
    this.messages.push(this.#open)
    return this.#open
  }
}
