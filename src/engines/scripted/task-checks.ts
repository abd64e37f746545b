import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import { contentText } from '../../tasks/message.ts'

const DEFAULT_VOCABULARY = 32_000

/** @throws ModelyardError `invalid_request` for a token id that this model does not have */
export function checkTokenIds(
  input: string | readonly number[],
  vocabularySize: number = DEFAULT_VOCABULARY,
  param: string,
): void {
  if (typeof input === 'string') return
  const wrong = input.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabularySize)
  if (wrong === undefined) return
  const message = `Token id ${wrong} is not one of this model, which has ${vocabularySize}; send text instead.`
  throw new ModelyardError('invalid_request', message, { details: { param } })
}

/** What the script's `match` is tried on: the last user text of a chat, or the prompt. */
export function askedText(task: ChatTask | CompletionTask): string {
  if (task.kind === 'chat') {
    const last = task.messages.findLast((message) => message.role === 'user')
    return last === undefined ? '' : contentText(last.content)
  }
  return typeof task.prompt === 'string' ? task.prompt : task.prompt.join(' ')
}
