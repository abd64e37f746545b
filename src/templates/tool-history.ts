import { createHash } from 'node:crypto'
import type { ControlTexts } from './control-texts.ts'
import type { PlainMessage } from './template-message.ts'
import type { TemplateStyle } from './template-style.ts'

/**
 * Calls and results of earlier turns for templates that leave them out: as text in the form that most models know, so that no part of
 * a conversation is lost on its way to the model (E3, BR-04). Templates that show them get them as they are.
 */
export function withToolHistory(
  messages: readonly PlainMessage[],
  style: TemplateStyle,
  control: ControlTexts,
): PlainMessage[] {
  return messages.map((message) => {
    if (message.role === 'tool' && !style.results) return resultAsText(message)
    if (message.role === 'assistant' && message.toolCalls !== undefined && style.calls === 'none') {
      return callsAsText(message, control)
    }
    return style.shortIds ? withShortIds(message) : message
  })
}

function callsAsText(message: PlainMessage & { role: 'assistant' }, control: ControlTexts): PlainMessage {
  const { toolCalls = [], ...rest } = message
  const calls = toolCalls.map(
    ({ name, arguments: json }) =>
      `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${json.trim() === '' ? '{}' : control.guard(json)}}\n</tool_call>`,
  )
  const texts = message.content === '' ? calls : [message.content, ...calls]
  return { ...rest, content: texts.join('\n') }
}

function resultAsText({ content }: PlainMessage): PlainMessage {
  return { role: 'user', content: `<tool_response>\n${content}\n</tool_response>` }
}

function withShortIds(message: PlainMessage): PlainMessage {
  if (message.role === 'tool') return { ...message, toolCallId: shortId(message.toolCallId) }
  if (message.role !== 'assistant' || message.toolCalls === undefined) return message
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: shortId(call.id) })) }
}

function shortId(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id
  return createHash('sha256').update(id).digest('hex').slice(0, 9)
}
