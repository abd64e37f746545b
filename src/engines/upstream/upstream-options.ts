import { object, oneOrMore, type Fields } from '../../base/compound-shapes.ts'
import { duration, number, size, text } from '../../base/scalar-shapes.ts'
import { described, shapeError, type Problem, type Shape } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { optionsOf, readEngineOptions } from '../engine-options.ts'
import { startShape, type StartOptions } from './start-options.ts'
import { capabilitySwitches, type CapabilitySwitches } from '../capability-switches.ts'

/** What requests to an upstream can ask for at all. */
export const UPSTREAM_TASKS = [
  'chat',
  'completion',
  'embedding',
  'rerank',
  'transcription',
  'speech',
  'image',
] as const
export const UPSTREAM_SWITCHES = [
  'tools',
  'structuredOutput',
  'logprobs',
  'reasoning',
  'images',
  'audio',
  'prefill',
  'infill',
  'tokenInput',
  'echo',
  'logitBias',
] as const

export type UpstreamSwitches = CapabilitySwitches<(typeof UPSTREAM_SWITCHES)[number]>

/** What a model with `engine: upstream` may say. Durations in milliseconds, sizes in bytes. */
export interface UpstreamOptions {
  /** Beginning of an OpenAI-compatible API, `https://…/v1`; several serve the same model. Empty where `start` says how to get one. */
  url: string[]
  /** Starts a server for this model, in one process or several, instead of going to one that runs. */
  start?: StartOptions
  /** The model's name there. Default: its id here. */
  remoteModel?: string
  /** Sent as `Authorization: Bearer`. Better: `keyEnvironment`, the name of the variable that holds it. */
  key?: string
  keyEnvironment?: string
  /** Bytes it takes of this machine's memory, when the endpoint runs here and is not watched by anyone else. Default 0. */
  memory?: number
  /** Longest silence before the first byte of an answer. Default 2 minutes. */
  firstByteTimeout?: number
  /**
   * Longest wait for what comes in one piece: pictures, transcripts, and text of which nothing is read before its end. Default 10 minutes; 0 = text is
   * always asked for as a stream, and `firstByteTimeout` holds for all.
   */
  wholeAnswerTimeout?: number
  /** Times a request is sent again when nothing of an answer has come. Default 2. */
  retries?: number
  /** What the model behind it can do, where that differs from what the endpoint says or what is taken for granted. */
  capabilities?: UpstreamSwitches
  /** For `prefix*` models: time until the endpoint is asked again which models it has. Default 5 minutes; 0 = only when somebody asks for it. */
  refresh?: number
}

const WEB_ADDRESS = {
  pattern: /^https?:\/\/[^\s?#@/]+(\/[^\s?#]*)?$/,
  wants:
    'an http or https address like "http://127.0.0.1:8000/v1", without a name or password (that is what keyEnvironment is for)',
}
const VARIABLE = { pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, wants: 'the name of an environment variable' }

export const upstreamOptionFields: Fields = {
  url: described(
    oneOrMore(text(WEB_ADDRESS)),
    'Beginning of an OpenAI-compatible API; several serve the same model.',
  ),
  start: described(startShape, 'Starts a server for this model, in one process or several; instead of url.'),
  remoteModel: described(text(), "The model's name there; default: its id here."),
  key: described(text(), 'API key; better keyEnvironment.'),
  keyEnvironment: described(text(VARIABLE), 'Environment variable with the API key.'),
  memory: described(size(), "Bytes of this machine's memory that it takes; default none."),
  firstByteTimeout: described(
    duration({ finite: true }),
    'Longest wait for the first byte of an answer, and for what comes next; default 2m.',
  ),
  wholeAnswerTimeout: described(
    duration({ finite: true }),
    'Longest wait for what comes in one piece (text without a stream, pictures, transcripts); default 10m, 0 asks for text as streams.',
  ),
  retries: described(
    number({ min: 0, max: 10, whole: true }),
    'Times a request is sent again before its first byte; default 2.',
  ),
  capabilities: described(
    capabilitySwitches(UPSTREAM_TASKS, UPSTREAM_SWITCHES),
    'What the model behind it can do; what the endpoint says by default.',
  ),
  refresh: described(
    duration({ finite: true }),
    'For prefix* models: time until the endpoint is asked again which models it has; default 5m, 0 only on demand.',
  ),
}

/** A number is milliseconds here: the configuration's reading made them of what was written. */
const milliseconds: Shape<number> = {
  ...duration({ finite: true }),
  read: (value, path, context) =>
    typeof value === 'number' ? value : duration({ finite: true }).read(value, path, context),
}

const shape = object<Fields>({
  ...upstreamOptionFields,
  firstByteTimeout: milliseconds,
  wholeAnswerTimeout: milliseconds,
  refresh: milliseconds,
})

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function upstreamOptions(spec: ModelSpec): UpstreamOptions {
  const what = optionsOf('upstream', spec)
  const read = readEngineOptions('upstream', shape, spec)
  const { url = [], start, ...rest } = read as unknown as Partial<UpstreamOptions>
  if ((url.length === 0) === (start === undefined)) throw shapeError(what, [WHERE])
  const { count = 1, memory = [] } = start ?? {}
  if (start !== undefined && memory.length !== 1 && memory.length !== count)
    throw shapeError(what, [wrongMemory(memory.length, count)])
  return { url, ...rest, ...(start !== undefined && { start }) }
}

const WHERE: Problem = { path: [], at: 'value', message: 'needs "url", or "start", and not both' }

function wrongMemory(told: number, count: number): Problem {
  const message = `must be one, or one for each of the ${count} processes, not ${told}`
  return { path: ['start', 'memory'], at: 'value', message }
}
