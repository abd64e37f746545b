import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { ContentPart, Message } from '../../tasks/message.ts'
import { decodeBody } from '../decode-model.ts'
import type { AnswerAction, DialectRequest, RunAction } from '../dialect.ts'
import { invalidField, notImplemented, optionalBoolean, optionalString, type Fields } from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { answerAction } from './answer-action.ts'
import { generateShape, type AnswerEnvelope } from './answer-shape.ts'
import { decodeConversation, encodeConversation } from './conversation-code.ts'
import { decodeAnswerWishes } from './decode-chat.ts'
import { decodeImages } from './decode-images.ts'
import { decodeRunOptions } from './decode-keep-alive.ts'
import { decodeLogprobs } from './decode-logprobs.ts'
import { withImages } from './decode-messages.ts'
import { decodeOptions, wishOf } from './decode-options.ts'
import { GENERATE_FEATURE_FIELDS } from './feature-fields.ts'
import { loadAnswer } from './load-model.ts'
import { decodeName } from './model-name.ts'
import { GENERATE_PARAMETERS } from './parameters.ts'

/** What a prompt is made of. */
interface PromptFields {
  prompt: string
  suffix: string
  images: ContentPart[]
  raw: boolean
}

/** `POST /api/generate`; without a prompt it loads or unloads. */
export function decodeCompletion(request: DialectRequest): RunAction | AnswerAction {
  const body = decodeBody(request.body)
  const model = decodeName(body)
  refuseUnsupported(body, GENERATE_PARAMETERS)
  const options = decodeRunOptions(body, request.headers)
  const { contextLength } = decodeOptions(body)
  const fields = decodePrompt(body)
  if (fields.prompt === '' && fields.suffix === '' && fields.images.length === 0) {
    return loadAnswer({
      model,
      request,
      shape: generateShape,
      options: { ...options, ...wishOf(contextLength) },
    })
  }
  const task = decodeGenerateTask(body, fields)
  const ending = endingOf(task)
  return answerAction({
    request,
    body,
    model,
    options,
    task,
    contextLength,
    shape: generateShape,
    featureFields: GENERATE_FEATURE_FIELDS,
    ...(ending === undefined ? {} : { ending }),
  })
}

function decodePrompt(body: Fields): PromptFields {
  return {
    prompt: optionalString(body, 'prompt') ?? '',
    suffix: optionalString(body, 'suffix') ?? '',
    images: decodeImages(body),
    raw: optionalBoolean(body, 'raw') ?? false,
  }
}

/** A turn of a chat; with `raw` or `suffix` a text that goes on. @throws ModelyardError */
export function decodeGenerateTask(
  body: Fields,
  fields: PromptFields = decodePrompt(body),
): ChatTask | CompletionTask {
  if (fields.raw || fields.suffix !== '') return decodeTextTask(body, fields)
  const { sampling, stop, maxTokens } = decodeOptions(body)
  const messages = [
    ...decodeBefore(body),
    { role: 'user' as const, content: withImages(fields.prompt, fields.images) },
  ]
  const task: ChatTask = { kind: 'chat', messages, sampling, stop }
  if (maxTokens !== undefined) task.maxTokens = maxTokens
  decodeAnswerWishes(body, task)
  return task
}

/** The system text and the conversation so far; a new system text stands for the old one. */
function decodeBefore(body: Fields): Message[] {
  const before = decodeConversation(body['context'] ?? [])
  const system = optionalString(body, 'system') ?? ''
  if (system === '') return before
  return [{ role: 'system', content: system }, ...before.filter(({ role }) => role !== 'system')]
}

function decodeTextTask(body: Fields, { prompt, suffix, raw }: PromptFields): CompletionTask {
  refuseWithText(body, raw)
  const { sampling, stop, maxTokens } = decodeOptions(body)
  const logprobs = decodeLogprobs(body)
  return {
    kind: 'completion',
    prompt,
    sampling,
    stop,
    ...(suffix === '' ? {} : { suffix }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(logprobs === undefined ? {} : { topLogprobs: logprobs }),
  }
}

/** Fields that need a chat; a value that asks for nothing is none. */
const ASKING: Record<string, (value: unknown) => boolean> = {
  system: (value) => value !== '',
  context: (value) => !Array.isArray(value) || value.length > 0,
  images: (value) => !Array.isArray(value) || value.length > 0,
  format: (value) => value !== '',
  think: (value) => value !== false,
}

function refuseWithText(body: Fields, raw: boolean): void {
  const mode = raw ? 'raw' : 'suffix'
  for (const [name, asks] of Object.entries(ASKING)) {
    const value = body[name]
    if (value === undefined || value === null || !asks(value)) continue
    const message = `'${name}' does not go together with '${mode}', which uses no template.`
    throw name === 'system' || name === 'context'
      ? invalidField(name, message)
      : notImplemented(name, message)
  }
}

/** `context` holds the conversation with the answer; texts without a template have none. */
function endingOf(task: ChatTask | CompletionTask): AnswerEnvelope['ending'] {
  if (task.kind !== 'chat') return undefined
  return (text) => {
    const turns: Message[] = [...task.messages, { role: 'assistant', content: text }]
    return `,"context":[${encodeConversation(turns).join(',')}]`
  }
}
