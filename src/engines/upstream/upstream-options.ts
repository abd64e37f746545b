import { list, object, oneOrMore, type Fields } from '../../base/compound-shapes.ts'
import { flag, choice, duration, number, size, text } from '../../base/scalar-shapes.ts'
import { described, readShape } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { EngineCapabilities } from '../engine.ts'

const TASKS = ['chat', 'completion', 'embedding'] as const
const SWITCHES = [
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

/** What a model with `engine: upstream` may say. Durations in milliseconds, sizes in bytes. */
export interface UpstreamOptions {
  /** Beginning of an OpenAI-compatible API, `https://…/v1`; several serve the same model. */
  url: string[]
  /** The model's name there. Default: its id here. */
  remoteModel?: string
  /** Sent as `Authorization: Bearer`. Better: `keyEnvironment`, the name of the variable that holds it. */
  key?: string
  keyEnvironment?: string
  /** Bytes it takes of this machine's memory, when the endpoint runs here and is not watched by anyone else. Default 0. */
  memory?: number
  /** Longest silence before the first byte of an answer. Default 2 minutes. */
  firstByteTimeout?: number
  /** Times a request is sent again when nothing of an answer has come. Default 2. */
  retries?: number
  /** What the model behind it can do, where that differs from the default. */
  capabilities?: Partial<EngineCapabilities>
}

const WEB_ADDRESS = {
  pattern: /^https?:\/\/[^\s?#]+$/,
  wants: 'an http or https address like "http://127.0.0.1:8000/v1"',
}
const VARIABLE = { pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, wants: 'the name of an environment variable' }

export const upstreamOptionFields: Fields = {
  url: described(
    oneOrMore(text(WEB_ADDRESS)),
    'Beginning of an OpenAI-compatible API; several serve the same model.',
  ),
  remoteModel: described(text(), "The model's name there; default: its id here."),
  key: described(text(), 'API key; better keyEnvironment.'),
  keyEnvironment: described(text(VARIABLE), 'Environment variable with the API key.'),
  memory: described(size(), "Bytes of this machine's memory that it takes; default none."),
  firstByteTimeout: described(
    duration({ finite: true }),
    'Longest wait for the first byte of an answer; default 2m.',
  ),
  retries: described(
    number({ min: 0, max: 10, whole: true }),
    'Times a request is sent again before its first byte; default 2.',
  ),
  capabilities: described(
    object({ tasks: list(choice(...TASKS)), ...Object.fromEntries(SWITCHES.map((name) => [name, flag()])) }),
    'What the model behind it can do.',
  ),
}

const shape = object<Fields>(upstreamOptionFields, { required: ['url'] })

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function upstreamOptions(spec: ModelSpec): UpstreamOptions {
  return readShape(shape, spec.engineOptions, {
    directory: '.',
    what: `model "${spec.id}" (engine "upstream")`,
  }) as unknown as UpstreamOptions
}
