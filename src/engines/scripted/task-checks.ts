import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import { contentText } from '../../tasks/message.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'

const DEFAULT_VOCABULARY = 32_000

/** @throws ModelyardError `unsupported` for a kind of task that this model was told not to do */
export function checkSupported(task: Task, plan: LoadPlan): void {
  if (plan.capabilities.tasks.includes(task.kind)) return
  throw new ModelyardError('unsupported', `Model "${plan.model}" cannot do ${task.kind} tasks.`, {
    details: { param: 'model', task: task.kind },
  })
}

/** The prompt must leave room for one token. @throws ModelyardError `context_length_exceeded` with both numbers */
export function checkLength(promptTokens: number, contextSize: number, param?: string): void {
  if (promptTokens < contextSize) return
  const message =
    `The maximum context length is ${contextSize} tokens, prompt and answer together, but the prompt alone has ` +
    `${promptTokens}; shorten it or load the model with a larger context.`
  const details = { promptTokens, contextSize, ...(param !== undefined && { param }) }
  throw new ModelyardError('context_length_exceeded', message, { details })
}

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
