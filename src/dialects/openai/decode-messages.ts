import { isMap } from '../../base/is-map.ts'
import type { ContentPart, Message, ToolCall } from '../../tasks/message.ts'
import { decodeImageUri } from '../data-uri.ts'
import {
  asArray,
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalArray,
  optionalChoice,
  optionalFields,
  optionalString,
  wrongType,
  type Fields,
} from '../fields.ts'

type Content = string | ContentPart[]

/** Messages of a chat, oldest first; a wrong one is named by its place. */
export function decodeMessages(body: Fields): Message[] {
  if (body['messages'] === undefined) throw invalidField('messages', `'messages' is missing.`)
  const messages = asArray(body['messages'], 'messages')
  if (messages.length === 0)
    throw invalidField('messages', `'messages' is empty; at least one message is needed.`)
  return messages.map((message, index) =>
    decodeMessage(asFields(message, `messages[${index}]`), `messages[${index}].`),
  )
}

function decodeMessage(fields: Fields, parent: string): Message {
  switch (fields['role']) {
    case 'system':
    case 'developer': // a system message by another name (BR-05)
      return { role: 'system', content: requiredContent(fields, parent) }
    case 'user':
      return withName({ role: 'user', content: requiredContent(fields, parent) }, fields, parent)
    case 'assistant':
      return decodeAssistant(fields, parent)
    case 'tool':
      return decodeToolResult(fields, parent)
    case 'function': // the deprecated form of a tool's result
      return decodeFunctionResult(fields, parent)
    default:
      throw wrongRole(fields['role'], parent)
  }
}

function wrongRole(role: unknown, parent: string): Error {
  if (typeof role !== 'string') return wrongType(`${parent}role`, 'a string', role)
  return invalidField(
    `${parent}role`,
    `'${parent}role' must be one of 'system', 'developer', 'user', 'assistant', 'tool'.`,
  )
}

function withName(message: Message & { role: 'user' }, fields: Fields, parent: string): Message {
  const name = optionalString(fields, 'name', parent)
  return name === undefined ? message : { ...message, name }
}

function decodeAssistant(fields: Fields, parent: string): Message {
  // The server's own answer comes back like this: content null beside tool calls (BR-04).
  const message: Message & { role: 'assistant' } = {
    role: 'assistant',
    content: optionalContent(fields, parent),
  }
  if (fields['audio'] !== undefined && fields['audio'] !== null) {
    throw notImplemented(`${parent}audio`, 'This server keeps no audio answers.')
  }
  const refusal = optionalString(fields, 'refusal', parent)
  if (refusal !== undefined && message.content === '') message.content = refusal
  const reasoning =
    optionalString(fields, 'reasoning_content', parent) ?? optionalString(fields, 'reasoning', parent)
  if (reasoning !== undefined) message.reasoning = reasoning
  const toolCalls = decodeToolCalls(fields, parent)
  if (toolCalls.length > 0) message.toolCalls = toolCalls
  return message
}

function decodeToolCalls(fields: Fields, parent: string): ToolCall[] {
  const calls = optionalArray(fields, 'tool_calls', parent) ?? []
  const decoded = calls.map((call, index) => decodeToolCall(call, `${parent}tool_calls[${index}]`))
  const legacy = optionalFields(fields, 'function_call', parent)
  if (legacy === undefined) return decoded
  const name = asString(legacy['name'], `${parent}function_call.name`)
  return [...decoded, { id: functionCallId(name), ...decodeCall(legacy, `${parent}function_call.`) }]
}

function decodeToolCall(value: unknown, param: string): ToolCall {
  const fields = asFields(value, param)
  if (fields['type'] === 'custom') throw notImplemented(`${param}.type`, 'Custom tools are not supported.')
  optionalChoice(fields, 'type', ['function'], `${param}.`)
  const id = asString(fields['id'], `${param}.id`)
  return { id, ...decodeCall(asFields(fields['function'], `${param}.function`), `${param}.function.`) }
}

function decodeCall(fields: Fields, parent: string): { name: string; arguments: string } {
  return {
    name: asString(fields['name'], `${parent}name`),
    arguments: asString(fields['arguments'], `${parent}arguments`),
  }
}

/** Old function calls have no id: the name stands for it, the same on each turn, so that a cached beginning still agrees. */
function functionCallId(name: string): string {
  return `function_${name}`
}

function decodeToolResult(fields: Fields, parent: string): Message {
  const toolCallId = asString(fields['tool_call_id'], `${parent}tool_call_id`)
  const message: Message & { role: 'tool' } = {
    role: 'tool',
    content: optionalContent(fields, parent),
    toolCallId,
  }
  const name = optionalString(fields, 'name', parent)
  return name === undefined ? message : { ...message, name }
}

function decodeFunctionResult(fields: Fields, parent: string): Message {
  const name = asString(fields['name'], `${parent}name`)
  return { role: 'tool', content: optionalContent(fields, parent), toolCallId: functionCallId(name), name }
}

function requiredContent(fields: Fields, parent: string): Content {
  const value = fields['content']
  if (value === undefined || value === null) {
    throw wrongType(`${parent}content`, 'a string or an array of parts', value)
  }
  return decodeContent(value, `${parent}content`)
}

/** Null and absent are an empty text where the role allows it. */
function optionalContent(fields: Fields, parent: string): Content {
  const value = fields['content']
  return value === undefined || value === null ? '' : decodeContent(value, `${parent}content`)
}

function decodeContent(value: unknown, param: string): Content {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of parts', value)
  const parts = value.map((part, index) => decodePart(part, `${param}[${index}]`))
  if (parts.every((part) => part.type === 'text')) return parts.map((part) => part.text).join('')
  return parts
}

function decodePart(value: unknown, param: string): ContentPart {
  const fields = asFields(value, param)
  switch (fields['type']) {
    case 'text':
      return { type: 'text', text: asString(fields['text'], `${param}.text`) }
    case 'refusal':
      return { type: 'text', text: asString(fields['refusal'], `${param}.refusal`) }
    case 'image_url':
      return decodeImage(fields, param)
    case 'input_audio':
    case 'file':
      throw notImplemented(param, `Message parts of type '${fields['type']}' are not supported.`)
    default:
      throw invalidField(`${param}.type`, `'${param}.type' must be one of 'text', 'image_url'.`)
  }
}

/** `{image_url: {url, detail}}`, or the bare string that several clients send (BR-10). */
function decodeImage(fields: Fields, param: string): ContentPart {
  const image = fields['image_url']
  const path = isMap(image) ? `${param}.image_url.url` : `${param}.image_url`
  if (isMap(image)) {
    optionalChoice(image, 'detail', ['auto', 'low', 'high', 'original'], `${param}.image_url.`)
  }
  return decodeImageUri(asString(isMap(image) ? image['url'] : image, path), path)
}
