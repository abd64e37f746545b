import { contentText } from '../../tasks/message.ts'
import type { Task } from '../../tasks/task.ts'

/** What stands for tokens where an engine has none: words, and one for each message. Token ids count one each. */
export function promptWords(task: Task): number {
  if (task.kind === 'chat')
    return task.messages.reduce((sum, { content }) => sum + 1 + wordsIn(contentText(content)), 0)
  if (task.kind === 'completion') return wordsIn(task.prompt) + wordsIn(task.suffix ?? '')
  if (task.kind === 'embedding')
    return task.inputs.reduce((sum, input) => sum + (input instanceof Uint8Array ? 0 : wordsIn(input)), 0)
  if (task.kind === 'rerank')
    return task.documents.reduce((sum, document) => sum + wordsIn(task.query) + wordsIn(document), 0)
  if (task.kind === 'speech') return wordsIn(task.text)
  return task.kind === 'image' ? wordsIn(task.prompt) : 0
}

function wordsIn(text: string | readonly number[]): number {
  return typeof text === 'string' ? (text.match(/\S+/g) ?? []).length : text.length
}
