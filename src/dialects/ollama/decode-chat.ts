import type { ChatTask } from '../../tasks/chat-task.ts'
import { decodeBody } from '../decode-model.ts'
import { decodeTools } from '../decode-tools.ts'
import type { AnswerAction, DialectRequest, RunAction } from '../dialect.ts'
import { optionalArray, type Fields } from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { chatShape } from './answer-shape.ts'
import { decodeRunOptions } from './decode-keep-alive.ts'
import { decodeFormat } from './decode-format.ts'
import { decodeLogprobs } from './decode-logprobs.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeOptions, wishOf } from './decode-options.ts'
import { decodeThink } from './decode-think.ts'
import { CHAT_FEATURE_FIELDS } from './feature-fields.ts'
import { loadAnswer } from './load-model.ts'
import { decodeName } from './model-name.ts'
import { CHAT_PARAMETERS } from './parameters.ts'
import { answerAction } from './answer-action.ts'

/** `POST /api/chat`; without messages it loads or unloads. */
export function decodeChat(request: DialectRequest): RunAction | AnswerAction {
  const body = decodeBody(request.body)
  const model = decodeName(body)
  refuseUnsupported(body, CHAT_PARAMETERS)
  const options = decodeRunOptions(body, request.headers)
  const { contextLength } = decodeOptions(body)
  const messages = optionalArray(body, 'messages') ?? []
  if (messages.length === 0)
    return loadAnswer({ model, request, shape: chatShape, options: { ...options, ...wishOf(contextLength) } })
  return answerAction({
    request,
    body,
    model,
    options,
    task: decodeChatTask(body),
    contextLength,
    shape: chatShape,
    featureFields: CHAT_FEATURE_FIELDS,
  })
}

/** The body of a chat request as a task. @throws ModelyardError */
export function decodeChatTask(body: Fields): ChatTask {
  const { sampling, stop, maxTokens } = decodeOptions(body)
  const task: ChatTask = { kind: 'chat', messages: decodeMessages(body['messages']), sampling, stop }
  if (maxTokens !== undefined) task.maxTokens = maxTokens
  // The choice among tools is an extension, in OpenAI's words.
  decodeTools(body, task)
  decodeAnswerWishes(body, task)
  return task
}

/** What chat and generate ask of an answer alike. */
export function decodeAnswerWishes(body: Fields, task: ChatTask): void {
  const format = decodeFormat(body)
  if (format !== undefined) task.format = format
  const reasoning = decodeThink(body)
  if (reasoning !== undefined) task.reasoning = reasoning
  const logprobs = decodeLogprobs(body)
  if (logprobs !== undefined) task.topLogprobs = logprobs
}
