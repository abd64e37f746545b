import { ModelyardError } from '../base/errors.ts'
import { contentText, type Message, type Tool, type ToolCall } from '../tasks/message.ts'
import type { ControlTexts } from './control-texts.ts'
import type { TemplateStyle } from './template-style.ts'

/** A message whose content is one text, and whose every text is guarded but the arguments of calls: those are JSON still. */
export type PlainMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string; name?: string }
  | { role: 'assistant'; content: string; reasoning?: string; toolCalls?: ToolCall[] }
  | { role: 'tool'; content: string; toolCallId: string; name?: string }

/** What is cut in earlier answers, and what in everything else. */
export interface Guards {
  answers: ControlTexts
  others: ControlTexts
}

/** Text parts are joined before they are guarded, so that two of them cannot make a control token together. */
export function plainMessages(messages: readonly Message[], guards: Guards): PlainMessage[] {
  const names = new Map<string, string>()
  return messages.map((message, index) => {
    if (message.role === 'assistant')
      for (const call of message.toolCalls ?? []) names.set(call.id, call.name)
    requireText(message, index)
    return plainMessage(message, guards, names)
  })
}

function plainMessage(message: Message, guards: Guards, names: Map<string, string>): PlainMessage {
  const guard = (text: string): string => guards.others.guard(text)
  const text = contentText(message.content)
  const content = message.role === 'assistant' ? guards.answers.guard(text) : guard(text)
  if (message.role === 'system') return { role: 'system', content }
  if (message.role === 'user') return { role: 'user', content, ...optional('name', message.name, guard) }
  if (message.role === 'tool') {
    const name = message.name ?? names.get(message.toolCallId)
    return { role: 'tool', content, toolCallId: guard(message.toolCallId), ...optional('name', name, guard) }
  }
  const toolCalls = message.toolCalls?.map(({ id, name, arguments: json }) => ({
    id: guard(id),
    name: guard(name),
    arguments: json,
  }))
  return {
    role: 'assistant',
    content,
    ...optional('reasoning', message.reasoning, (thought) => guards.answers.guard(thought)),
    ...(toolCalls !== undefined && toolCalls.length > 0 && { toolCalls }),
  }
}

function optional<Key extends string>(
  key: Key,
  value: string | undefined,
  guard: (text: string) => string,
): { [K in Key]?: string } {
  return value === undefined ? {} : ({ [key]: guard(value) } as { [K in Key]?: string })
}

function requireText({ content }: Message, index: number): void {
  const other = typeof content === 'string' ? undefined : content.find(({ type }) => type !== 'text')
  if (other === undefined) return
  throw new ModelyardError(
    'unsupported',
    `This model takes text only; message ${index} has an ${other.type}.`,
    {
      details: { param: `messages[${index}].content` },
    },
  )
}

/** The message as templates know it: the shape of OpenAI's API, arguments as an object. */
export function templateMessage(
  message: PlainMessage,
  style: TemplateStyle,
  control: ControlTexts,
): Record<string, unknown> {
  const content = style.typedContent ? [{ type: 'text', text: message.content }] : message.content
  if (message.role === 'system') return { role: 'system', content }
  if (message.role === 'user') return { role: 'user', content, ...named(message.name) }
  if (message.role === 'tool') {
    return { role: 'tool', content, tool_call_id: message.toolCallId, ...named(message.name) }
  }
  const { toolCalls, reasoning } = message
  const thought = reasoning === undefined ? {} : { reasoning_content: reasoning }
  if (toolCalls === undefined || style.calls === 'none') return { role: 'assistant', content, ...thought }
  const { textArguments, nullContent } = style.calls
  return {
    role: 'assistant',
    content: message.content === '' && nullContent ? null : content,
    ...thought,
    tool_calls: toolCalls.map((call) => templateCall(call, textArguments, control)),
  }
}

function named(name: string | undefined): Record<string, string> {
  return name === undefined ? {} : { name }
}

function templateCall(
  call: ToolCall,
  textArguments: boolean,
  control: ControlTexts,
): Record<string, unknown> {
  const { id, name, arguments: json } = call
  const given = textArguments ? control.guard(json) : control.guardAll(parsedArguments(json))
  return { id, type: 'function', function: { name, arguments: given } }
}

/** What the model wrote need not be JSON; then the template gets the text as it is. */
function parsedArguments(json: string): unknown {
  if (json.trim() === '') return {}
  try {
    return JSON.parse(json) as unknown
  } catch {
    return json
  }
}

export function templateTool({ name, description, parameters }: Tool, control: ControlTexts): unknown {
  const definition = { name, ...(description !== undefined && { description }), parameters }
  return control.guardAll({ type: 'function', function: definition })
}
