import { contentText, type ContentPart, type Message, type ToolCall } from '../../tasks/message.ts'
import {
  asArray,
  asFields,
  asString,
  invalidField,
  optionalBoolean,
  wrongType,
  type Fields,
} from '../fields.ts'
import {
  contentOf,
  decodeBlocks,
  decodeShownBlock,
  decodeText,
  decodeTexts,
  refusedBlock,
  type Block,
} from './decode-blocks.ts'

const MOST_MESSAGES = 100_000

/** The system text and the messages of a request, oldest first; turns of one side that follow each other are one turn, as in the API. */
export function decodeMessages(body: Fields): Message[] {
  const conversation = new ConversationReader()
  const { system, messages } = body
  if (system !== undefined && system !== null) {
    const content = decodeTexts(system, 'system')
    // An empty list is no system message; an empty text is one (zero is a value).
    if (!Array.isArray(system) || system.length > 0) conversation.add({ role: 'system', content })
  }
  if (messages === undefined) throw invalidField('messages', `'messages' is missing.`)
  const list = asArray(messages, 'messages')
  if (list.length === 0 || list.length > MOST_MESSAGES) {
    throw invalidField(
      'messages',
      `'messages' has ${list.length} entries; 1 to ${MOST_MESSAGES} are allowed.`,
    )
  }
  for (const [index, message] of list.entries()) {
    const param = `messages[${index}]`
    conversation.read(asFields(message, param), param)
  }
  return conversation.messages
}

class ConversationReader {
  readonly messages: Message[] = []
  /** Names of the tools that were called, by the id of the call. */
  readonly #called = new Map<string, string>()

  read(fields: Fields, param: string): void {
    const { role } = fields
    const content = `${param}.content`
    if (role === 'user') this.#readUser(decodeBlocks(fields['content'], content))
    else if (role === 'assistant') this.add(this.#assistant(decodeBlocks(fields['content'], content)))
    else if (role === 'system') this.add({ role, content: decodeTexts(fields['content'], content) })
    else throw wrongRole(role, param)
  }

  add(message: Message): void {
    const last = this.messages.at(-1)
    const joined = last === undefined ? undefined : joinedTurns(last, message)
    if (joined === undefined) this.messages.push(message)
    else this.messages[this.messages.length - 1] = joined
  }

  /** Results of tools are messages of their own; what stands around them stays in its order. */
  #readUser(blocks: Block[]): void {
    let shown: ContentPart[] = []
    const endTurn = (): void => {
      if (shown.length > 0) this.add({ role: 'user', content: contentOf(shown) })
      shown = []
    }
    for (const block of blocks) {
      if (block.type === 'tool_result') {
        endTurn()
        this.add(this.#toolResult(block))
      } else shown.push(...decodeShownBlock(block))
    }
    if (blocks.length === 0) this.add({ role: 'user', content: '' })
    endTurn()
  }

  #toolResult({ fields, param }: Block): Message {
    const toolCallId = asString(fields['tool_use_id'], `${param}.tool_use_id`)
    const name = this.#called.get(toolCallId)
    const value = fields['content']
    const blocks = value === undefined || value === null ? [] : decodeBlocks(value, `${param}.content`)
    const failed = optionalBoolean(fields, 'is_error', `${param}.`) ?? false
    const content = contentOf(blocks.flatMap(decodeShownBlock))
    return {
      role: 'tool',
      content: failed ? asFailure(content) : content,
      toolCallId,
      ...(name === undefined ? {} : { name }),
    }
  }

  #assistant(blocks: Block[]): Message {
    const message: Message & { role: 'assistant' } = { role: 'assistant', content: '' }
    const toolCalls: ToolCall[] = []
    let text = ''
    for (const block of blocks) {
      if (block.type === 'text') text += decodeText(block)
      else if (block.type === 'thinking') message.reasoning = (message.reasoning ?? '') + decodeThought(block)
      else if (block.type === 'tool_use') toolCalls.push(this.#toolCall(block))
      // Only whoever wrote it can read it: there is nothing in it for another model.
      else if (block.type === 'redacted_thinking') asString(block.fields['data'], `${block.param}.data`)
      else throw refusedBlock({ ...block, type: block.type === 'image' ? '' : block.type })
    }
    message.content = text
    if (toolCalls.length > 0) message.toolCalls = toolCalls
    return message
  }

  #toolCall({ fields, param }: Block): ToolCall {
    const id = asString(fields['id'], `${param}.id`)
    const name = asString(fields['name'], `${param}.name`)
    this.#called.set(id, name)
    return { id, name, arguments: JSON.stringify(asFields(fields['input'], `${param}.input`)) }
  }
}

function wrongRole(role: unknown, param: string): Error {
  if (typeof role !== 'string') return wrongType(`${param}.role`, 'a string', role)
  return invalidField(`${param}.role`, `'${param}.role' must be 'user' or 'assistant'.`)
}

function decodeThought({ fields, param }: Block): string {
  return asString(fields['thinking'], `${param}.thinking`)
}

/** Templates know no failed results: the text says it. */
function asFailure(content: string | ContentPart[]): string | ContentPart[] {
  if (/^\s*error/i.test(contentText(content))) return content
  if (typeof content === 'string') return content === '' ? 'Error' : `Error: ${content}`
  return [{ type: 'text', text: 'Error: ' }, ...content]
}

/** Two turns of the same side as one; undefined when they are not. */
function joinedTurns(first: Message, second: Message): Message | undefined {
  if (first.role === 'user' && second.role === 'user') {
    return { role: 'user', content: contentOf([...partsOf(first.content), ...partsOf(second.content)]) }
  }
  if (first.role !== 'assistant' || second.role !== 'assistant') return undefined
  const reasoning = [first.reasoning, second.reasoning].filter((text) => text !== undefined)
  const toolCalls = [...(first.toolCalls ?? []), ...(second.toolCalls ?? [])]
  return {
    role: 'assistant',
    content: contentText(first.content) + contentText(second.content),
    ...(reasoning.length === 0 ? {} : { reasoning: reasoning.join('') }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  }
}

function partsOf(content: string | ContentPart[]): ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
