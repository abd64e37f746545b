import type { ChatTask } from '../../tasks/chat-task.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { decodeExtensions } from '../extensions.ts'
import {
  invalidField,
  notImplemented,
  optionalArray,
  optionalBoolean,
  optionalChoice,
  optionalFields,
  optionalNumber,
  type Fields,
} from '../fields.ts'
import { decodeEffort } from '../openai/decode-chat.ts'
import { decodeMaxTokens, decodeSampling } from '../openai/decode-sampling.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { decodeResponseTools } from './decode-response-tools.ts'
import { decodeTextFormat } from './decode-text-format.ts'
import { ResponseAnswer } from './encode-response.ts'
import { ResponseStream } from './encode-response-stream.ts'
import { RESPONSE_FEATURE_FIELDS } from './feature-fields.ts'
import { RESPONSE_PARAMETERS } from './parameters.ts'
import { conversationOf, prepareResponse } from './prepare-response.ts'
import type { ResponseEnvelope } from './response-object.ts'

const LOGPROBS = 'message.output_text.logprobs'
/** Thoughts are always in the answer, as they are. */
const ENCRYPTED = 'reasoning.encrypted_content'

/** `POST /v1/responses` */
export function decodeResponse(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, RESPONSE_PARAMETERS)
  const stream = decodeStream(body)
  const envelope: ResponseEnvelope = { id: `resp_${request.id}`, created: request.created, model, body }
  const tasks = [decodeResponseTask(body)]
  return {
    type: 'run',
    model,
    tasks,
    prepare: prepareResponse(envelope, tasks, request.now),
    options: decodeExtensions(body, request.headers),
    encoder: new (stream ? ResponseStream : ResponseAnswer)(envelope, request.id),
    featureFields: RESPONSE_FEATURE_FIELDS,
  }
}

/** The body of a request as a task. @throws ModelyardError */
export function decodeResponseTask(body: Fields): ChatTask {
  const task: ChatTask = {
    kind: 'chat',
    messages: conversationOf(body),
    sampling: decodeSampling(body),
    stop: [],
  }
  const maxTokens = decodeMaxTokens(body, 'max_output_tokens')
  if (maxTokens !== undefined) task.maxTokens = maxTokens
  decodeResponseTools(body, task)
  const format = decodeTextFormat(body)
  if (format !== undefined) task.format = format
  const reasoning = decodeReasoning(body)
  if (reasoning !== undefined) task.reasoning = reasoning
  const topLogprobs = decodeLogprobs(body)
  if (topLogprobs !== undefined) task.topLogprobs = topLogprobs
  return task
}

/** `summary` asks for what the answer holds anyway: the whole thought. */
function decodeReasoning(body: Fields): ChatTask['reasoning'] {
  const fields = optionalFields(body, 'reasoning')
  if (fields === undefined) return undefined
  for (const name of ['summary', 'generate_summary'])
    optionalChoice(fields, name, ['auto', 'concise', 'detailed'], 'reasoning.')
  return decodeEffort(fields, 'effort', 'reasoning.')
}

function decodeLogprobs(body: Fields): number | undefined {
  const include = optionalArray(body, 'include') ?? []
  for (const [index, entry] of include.entries()) {
    if (entry === LOGPROBS || entry === ENCRYPTED) continue
    const param = `include[${index}]`
    if (typeof entry !== 'string') throw invalidField(param, `'${param}' must be a string.`)
    throw notImplemented(param, `This server can only include '${LOGPROBS}' and '${ENCRYPTED}'.`)
  }
  const top = optionalNumber(body, 'top_logprobs', { least: 0, most: 20, integer: true }) ?? 0
  return include.includes(LOGPROBS) || top > 0 ? top : undefined
}

function decodeStream(body: Fields): boolean {
  const stream = optionalBoolean(body, 'stream') ?? false
  const options = optionalFields(body, 'stream_options')
  if (options !== undefined && optionalBoolean(options, 'include_obfuscation', 'stream_options.')) {
    throw notImplemented('stream_options.include_obfuscation', 'This server does not obfuscate streams.')
  }
  return stream
}
