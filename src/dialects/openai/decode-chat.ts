import type { ChatTask } from '../../tasks/chat-task.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import { decodeExtensions } from '../extensions.ts'
import {
  invalidField,
  optionalBoolean,
  optionalChoice,
  optionalFields,
  optionalNumber,
  type Fields,
} from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { decodeChoices, repeatTask } from './decode-choices.ts'
import { decodeFormat } from './decode-format.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeMaxTokens, decodeSampling, decodeStop } from './decode-sampling.ts'
import { decodeStreamOptions } from './decode-stream-options.ts'
import { decodeTools } from '../decode-tools.ts'
import { ChatAnswer } from './encode-chat.ts'
import { ChatStream } from './encode-chat-stream.ts'
import { CHAT_FEATURE_FIELDS } from './feature-fields.ts'
import { CHAT_PARAMETERS } from './parameters.ts'

const MOST_TOP_LOGPROBS = 20

/** Tokens a model may think for each effort; the higher ones are left to the model. Our own choice: the API names no numbers. */
const EFFORT_BUDGETS = { minimal: 256, low: 1024, medium: 4096 } as const
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** `POST /v1/chat/completions` */
export function decodeChat(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, CHAT_PARAMETERS)
  const { stream, includeUsage } = decodeStreamOptions(body)
  const choices = decodeChoices(body)
  const envelope = { id: `chatcmpl-${request.id}`, created: request.created, model }
  return {
    type: 'run',
    model,
    tasks: repeatTask(decodeChatTask(body), choices),
    options: decodeExtensions(body, request.headers),
    encoder: stream ? new ChatStream(envelope, { includeUsage, choices }) : new ChatAnswer(envelope, choices),
    featureFields: CHAT_FEATURE_FIELDS,
  }
}

/** The body of a chat request as a task. @throws ModelyardError */
export function decodeChatTask(body: Fields): ChatTask {
  const task: ChatTask = {
    kind: 'chat',
    messages: decodeMessages(body),
    sampling: decodeSampling(body),
    stop: decodeStop(body),
  }
  const oldLimit = decodeMaxTokens(body, 'max_tokens')
  // The newer field wins where both are given (BR-06).
  const maxTokens = decodeMaxTokens(body, 'max_completion_tokens') ?? oldLimit
  if (maxTokens !== undefined) task.maxTokens = maxTokens
  decodeTools(body, task)
  const format = decodeFormat(body)
  if (format !== undefined) task.format = format
  decodeLogprobs(body, task)
  decodeReasoning(body, task)
  const templateOptions = optionalFields(body, 'chat_template_kwargs')
  if (templateOptions !== undefined) task.templateOptions = templateOptions
  return task
}

function decodeLogprobs(body: Fields, task: ChatTask): void {
  const wanted = optionalBoolean(body, 'logprobs') ?? false
  const top = optionalNumber(body, 'top_logprobs', { least: 0, most: MOST_TOP_LOGPROBS, integer: true })
  if (top !== undefined && top > 0 && !wanted) {
    throw invalidField('top_logprobs', `'top_logprobs' is only allowed when 'logprobs' is true.`)
  }
  if (wanted) task.topLogprobs = top ?? 0
}

function decodeReasoning(body: Fields, task: ChatTask): void {
  const reasoning = decodeEffort(body, 'reasoning_effort')
  if (reasoning !== undefined) task.reasoning = reasoning
}

/** How much a model may think, by the word for it. */
export function decodeEffort(fields: Fields, name: string, parent = ''): ChatTask['reasoning'] {
  const effort = optionalChoice(fields, name, EFFORTS, parent)
  if (effort === undefined) return undefined
  const enabled = effort !== 'none'
  return effort in EFFORT_BUDGETS
    ? { enabled, budget: EFFORT_BUDGETS[effort as keyof typeof EFFORT_BUDGETS] }
    : { enabled }
}
