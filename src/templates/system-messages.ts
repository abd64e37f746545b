import type { PlainMessage } from './template-message.ts'

/**
 * Ways to put the system messages of a conversation, the best first (BR-05): as they stand; as one at the front, for templates that
 * take one only; before the first user message's text, for templates without a place for them.
 */
export function systemArrangements(messages: PlainMessage[]): PlainMessage[][] {
  const system = messages.filter(({ role }) => role === 'system')
  if (system.length === 0) return [messages]
  const rest = messages.filter(({ role }) => role !== 'system')
  const text = system.map(({ content }) => content).join('\n\n')
  const arrangements = [messages]
  if (system.length > 1 || messages[0]?.role !== 'system') {
    arrangements.push([{ role: 'system', content: text }, ...rest])
  }
  const folded = withTextInUserMessage(rest, text)
  return folded === undefined ? arrangements : [...arrangements, folded]
}

function withTextInUserMessage(messages: PlainMessage[], text: string): PlainMessage[] | undefined {
  const index = messages.findIndex(({ role }) => role === 'user')
  const first = messages[index]
  if (first === undefined || text.trim() === '') return undefined
  return messages.with(index, { ...first, content: `${text}\n\n${first.content}` })
}

/** Whether a template that renders without complaint has really used every system text: loose ones drop some in silence. */
export function holdsSystemTexts(rendered: string, messages: readonly PlainMessage[]): boolean {
  return messages.every(({ role, content }) => role !== 'system' || rendered.includes(content.trim()))
}
