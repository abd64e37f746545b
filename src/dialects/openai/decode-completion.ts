import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import { decodeExtensions } from '../extensions.ts'
import {
  asArray,
  asNumber,
  asString,
  invalidField,
  notImplemented,
  optionalBoolean,
  optionalNumber,
  optionalString,
  type Fields,
} from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { decodeChoices, repeatTask } from './decode-choices.ts'
import { decodeMaxTokens, decodeSampling, decodeStop } from './decode-sampling.ts'
import { decodeStreamOptions } from './decode-stream-options.ts'
import { CompletionAnswer } from './encode-completion.ts'
import { CompletionStream } from './encode-completion-stream.ts'
import { COMPLETION_FEATURE_FIELDS } from './feature-fields.ts'
import { COMPLETION_PARAMETERS } from './parameters.ts'

/** What the API reference gives for `max_tokens` of this route (chat has no limit). */
const DEFAULT_MAX_TOKENS = 16
const MOST_LOGPROBS = 5
const MOST_PROMPTS = 128

/** `POST /v1/completions` */
export function decodeCompletion(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, COMPLETION_PARAMETERS)
  const { stream, includeUsage } = decodeStreamOptions(body)
  const envelope = { id: `cmpl-${request.id}`, created: request.created, model }
  const choices = decodeChoices(body)
  const tasks = decodeCompletionTasks(body).flatMap((task) => repeatTask(task, choices))
  return {
    type: 'run',
    model,
    tasks,
    options: decodeExtensions(body, request.headers),
    encoder: stream
      ? new CompletionStream(envelope, { includeUsage, choices })
      : new CompletionAnswer(envelope, choices),
    featureFields: COMPLETION_FEATURE_FIELDS,
  }
}

/** One task per prompt. @throws ModelyardError */
export function decodeCompletionTasks(body: Fields): CompletionTask[] {
  const common = decodeCommon(body)
  return decodePrompts(body['prompt']).map((prompt) => ({ ...common, prompt }))
}

function decodeCommon(body: Fields): Omit<CompletionTask, 'prompt'> {
  const common: Omit<CompletionTask, 'prompt'> = {
    kind: 'completion',
    sampling: decodeSampling(body),
    stop: decodeStop(body),
    maxTokens: decodeMaxTokens(body, 'max_tokens') ?? DEFAULT_MAX_TOKENS,
  }
  const suffix = optionalString(body, 'suffix')
  if (suffix !== undefined) common.suffix = suffix
  const echo = optionalBoolean(body, 'echo')
  if (echo !== undefined) common.echo = echo
  const logprobs = optionalNumber(body, 'logprobs', { least: 0, most: MOST_LOGPROBS, integer: true })
  if (logprobs === undefined) return common
  if (echo === true && suffix !== undefined) {
    throw notImplemented(
      'logprobs',
      `With 'echo' and 'suffix' there are no log-probabilities of the prompt; leave one of the three out.`,
    )
  }
  common.topLogprobs = logprobs
  return common
}

function decodePrompts(value: unknown): (string | number[])[] {
  if (typeof value === 'string') return [value]
  if (value === undefined || value === null) throw invalidField('prompt', `'prompt' is missing.`)
  const prompts = asArray(value, 'prompt')
  if (prompts.length === 0) throw invalidField('prompt', `'prompt' is an empty array.`)
  if (typeof prompts[0] === 'number') return [decodeTokens(prompts, 'prompt')]
  if (prompts.length > MOST_PROMPTS) {
    throw invalidField(
      'prompt',
      `'prompt' has ${prompts.length} entries; at most ${MOST_PROMPTS} are allowed.`,
    )
  }
  return prompts.map((prompt, index) =>
    Array.isArray(prompt) ? decodeTokens(prompt, `prompt[${index}]`) : asString(prompt, `prompt[${index}]`),
  )
}

/** Token ids; the engine checks that the model has them. @throws invalid_request that names the wrong one */
export function decodeTokens(values: unknown[], param: string): number[] {
  if (values.length === 0) throw invalidField(param, `'${param}' has no tokens.`)
  return values.map((value, index) => asNumber(value, `${param}[${index}]`, { least: 0, integer: true }))
}
