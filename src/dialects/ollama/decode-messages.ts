import type { ContentPart, Message, ToolCall } from '../../tasks/message.ts'
import {
  asArray,
  asFields,
  asString,
  invalidField,
  optionalArray,
  optionalFields,
  optionalString,
  wrongType,
  type Fields,
} from '../fields.ts'
import { decodeImages } from './decode-images.ts'

/** Messages of a chat, oldest first. */
export function decodeMessages(value: unknown): Message[] {
  const reader = new MessageReader()
  return asArray(value, 'messages').map((message, index) =>
    reader.read(asFields(message, `messages[${index}]`), `messages[${index}].`),
  )
}

/** This API's calls need no ids: a result belongs to the oldest call without one, of that name where it has one. */
class MessageReader {
  readonly #open: { id: string; name: string }[] = []
  #calls = 0

  read(fields: Fields, parent: string): Message {
    const role = fields['role']
    if (typeof role !== 'string') throw wrongType(`${parent}role`, 'a string', role)
    switch (role.toLowerCase()) {
      case 'system':
      case 'developer': // a system message by another name (BR-05)
        return { role: 'system', content: contentOf(fields, parent) }
      case 'user':
        return { role: 'user', content: contentOf(fields, parent) }
      case 'assistant':
        return this.#assistant(fields, parent)
      case 'tool':
        return this.#toolResult(fields, parent)
      default:
        throw invalidField(
          `${parent}role`,
          `'${parent}role' must be one of 'system', 'user', 'assistant', 'tool'.`,
        )
    }
  }

  #assistant(fields: Fields, parent: string): Message {
    const message: Message & { role: 'assistant' } = { role: 'assistant', content: contentOf(fields, parent) }
    const thinking = optionalString(fields, 'thinking', parent)
    if (thinking !== undefined) message.reasoning = thinking
    const calls = optionalArray(fields, 'tool_calls', parent) ?? []
    if (calls.length === 0) return message
    message.toolCalls = calls.map((call, index) => this.#toolCall(call, `${parent}tool_calls[${index}]`))
    return message
  }

  #toolCall(value: unknown, param: string): ToolCall {
    const fields = asFields(value, param)
    const definition = asFields(fields['function'], `${param}.function`)
    const name = asString(definition['name'], `${param}.function.name`)
    const input = optionalFields(definition, 'arguments', `${param}.function.`) ?? {}
    // The same place has the same id on each turn, so that a cached beginning still agrees.
    const id = optionalString(fields, 'id', `${param}.`) ?? `call_${this.#calls}`
    this.#calls++
    this.#open.push({ id, name })
    return { id, name, arguments: JSON.stringify(input) }
  }

  #toolResult(fields: Fields, parent: string): Message {
    const id = optionalString(fields, 'tool_call_id', parent)
    const name = optionalString(fields, 'tool_name', parent) ?? optionalString(fields, 'name', parent)
    const place = this.#open.findIndex((call) =>
      id === undefined ? name === undefined || call.name === name : call.id === id,
    )
    const [call] = place < 0 ? [] : this.#open.splice(place, 1)
    const called = name ?? call?.name
    return {
      role: 'tool',
      content: contentOf(fields, parent),
      toolCallId: id ?? call?.id ?? `call_${called ?? ''}`,
      ...(called === undefined ? {} : { name: called }),
    }
  }
}

/** Null and absent are an empty text; images come before it. */
function contentOf(fields: Fields, parent: string): string | ContentPart[] {
  return withImages(optionalString(fields, 'content', parent) ?? '', decodeImages(fields, parent))
}

export function withImages(text: string, images: ContentPart[]): string | ContentPart[] {
  if (images.length === 0) return text
  return text === '' ? images : [...images, { type: 'text', text }]
}
