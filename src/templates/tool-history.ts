import { createHash } from 'node:crypto'
import type { ControlTexts } from './control-texts.ts'
import type { PlainMessage } from './template-message.ts'
import type { TemplateStyle } from './template-style.ts'
import type { ToolCallFormat } from './tool-calls/tool-call-format.ts'

/**
 * Calls and results of earlier turns for templates that leave them out: as text in the form that most models know, so that no part of
 * a conversation is lost on its way to the model (E3, BR-04). Templates that show them get them as they are.
 */
export function withToolHistory(
  messages: readonly PlainMessage[],
  style: TemplateStyle,
  control: ControlTexts,
  format: ToolCallFormat,
): PlainMessage[] {
  const turns = style.oneCall ? oneCallATurn(messages) : messages
  return turns.map((message) => {
    if (message.role === 'tool' && !style.results) return resultAsText(message)
    if (message.role === 'assistant' && message.toolCalls !== undefined && style.calls === 'none') {
      return callsAsText(message, control, format)
    }
    return style.shortIds ? withShortIds(message) : message
  })
}

/** Calls of one turn as turns of their own, each followed by its result: the same to the model, and what such templates take. */
function oneCallATurn(messages: readonly PlainMessage[]): PlainMessage[] {
  const moved = new Set<PlainMessage>()
  return messages.flatMap((message, index) => {
    if (moved.has(message)) return []
    if (message.role !== 'assistant' || (message.toolCalls?.length ?? 0) < 2) return [message]
    const { toolCalls = [], ...rest } = message
    return toolCalls.flatMap((call, place): PlainMessage[] => {
      const result = messages.find(
        (other, at) => at > index && other.role === 'tool' && other.toolCallId === call.id,
      )
      if (result !== undefined) moved.add(result)
      const said = place === 0 ? rest : { role: 'assistant' as const, content: '' }
      const turn = { ...said, toolCalls: [call] }
      return result === undefined ? [turn] : [turn, result]
    })
  })
}

/** In the family's own writing where that is a list between markers, so that the model sees what it is to write. */
function callsAsText(
  message: PlainMessage & { role: 'assistant' },
  control: ControlTexts,
  { family, shape, begins, ends }: ToolCallFormat,
): PlainMessage {
  const { toolCalls = [], ...rest } = message
  const objects = toolCalls.map(
    ({ name, arguments: json }) =>
      `{"name": ${JSON.stringify(name)}, "arguments": ${json.trim() === '' ? '{}' : control.guard(json)}}`,
  )
  const single = shape.body !== 'json' || family === 'hermes' || family === 'generic'
  const calls = single
    ? objects.map((object) => `<tool_call>\n${object}\n</tool_call>`)
    : [`${begins[0] ?? ''}[${objects.join(', ')}]${ends[0] ?? ''}`]
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
