import { ModelyardError } from '../base/errors.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import { outputGrammar } from './output-grammar.ts'

/**
 * Refuses a format that cannot be held, and one that cannot be meant: before anything is loaded, so that nobody waits for a model in
 * vain. @throws ModelyardError `invalid_request`; `details.feature` is for the edge, which knows how the field is called
 */
export function requireFormat({ format, messages }: Pick<ChatTask, 'format' | 'messages'>): void {
  if (format === undefined) return
  const feature = format.type === 'grammar' ? 'grammar' : 'structured-output'
  if (messages.at(-1)?.role === 'assistant') {
    const message =
      "The last message is an assistant's, to be continued, and a format holds for whole answers; leave out one of them."
    throw new ModelyardError('invalid_request', message, { details: { param: 'format', feature } })
  }
  try {
    outputGrammar(format)
  } catch (error) {
    if (!(error instanceof ModelyardError)) throw error
    const { code, message, details } = error
    throw new ModelyardError(code, message, { details: { ...details, feature }, cause: error })
  }
}
