import type { ChatTask } from '../../tasks/chat-task.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import { decodeExtensions } from '../extensions.ts'
import { asNumber, invalidField, optionalBoolean, type Fields } from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { decodeFormat } from './decode-format.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeSampling, decodeStopSequences } from './decode-sampling.ts'
import { decodeThinking } from './decode-thinking.ts'
import { decodeTools } from './decode-tools.ts'
import { ChatAnswer } from './encode-chat.ts'
import { ChatStream } from './encode-chat-stream.ts'
import { FEATURE_FIELDS } from './feature-fields.ts'
import { MESSAGE_PARAMETERS } from './parameters.ts'

/** `POST /v1/messages` */
export function decodeChat(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, MESSAGE_PARAMETERS)
  const task = decodeChatTask(body)
  const envelope = {
    id: `msg_${request.id}`,
    requestId: `req_${request.id}`,
    model,
    thinkingShown: decodeThinking(body).shown,
  }
  return {
    type: 'run',
    model,
    tasks: [task],
    options: decodeExtensions(body, request.headers),
    encoder: optionalBoolean(body, 'stream') === true ? new ChatStream(envelope) : new ChatAnswer(envelope),
    featureFields: FEATURE_FIELDS,
  }
}

/** The body of a message request as a task. @throws ModelyardError */
export function decodeChatTask(body: Fields): ChatTask {
  if (body['max_tokens'] === undefined) throw invalidField('max_tokens', `'max_tokens' is missing.`)
  const maxTokens = asNumber(body['max_tokens'], 'max_tokens', { least: 0, integer: true })
  return {
    ...decodePrompt(body, maxTokens),
    sampling: decodeSampling(body),
    stop: decodeStopSequences(body),
    maxTokens,
  }
}

/** What of a request makes up the prompt: all that `count_tokens` needs. */
export function decodePrompt(body: Fields, maxTokens?: number): ChatTask {
  const task: ChatTask = { kind: 'chat', messages: decodeMessages(body), sampling: {}, stop: [] }
  decodeTools(body, task)
  const format = decodeFormat(body)
  if (format !== undefined) task.format = format
  const { reasoning } = decodeThinking(body, maxTokens)
  if (reasoning !== undefined) task.reasoning = reasoning
  return task
}
