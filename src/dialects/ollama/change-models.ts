import type { ModelRecipe } from '../../models/model-recipe.ts'
import { checkModelName, decodeBody } from '../decode-model.ts'
import type { AnswerAction, DialectAction, DialectAnswer, DialectRequest } from '../dialect.ts'
import {
  asString,
  invalidField,
  notImplemented,
  optionalArray,
  optionalBoolean,
  optionalString,
  type Fields,
} from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import type { YardPort } from '../yard-port.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeOptions } from './decode-options.ts'
import { encodeErrorLine } from './encode-error.ts'
import { requireContext } from '../fit-context.ts'
import { line, LINES } from './lines.ts'
import { collectionOf } from './list-models.ts'
import { decodeName } from './model-name.ts'
import { CREATE_PARAMETERS } from './parameters.ts'

const EMPTY: DialectAnswer = { contentType: 'text/plain; charset=utf-8', body: '' }

/**
 * `POST /api/create`: a model made from another one by other defaults. It is kept for good and shares the memory of the one it stands on.
 * What would need other weights or another template is refused.
 */
export function createModel({ body }: DialectRequest): DialectAction {
  const fields = decodeBody(body)
  const name = decodeName(fields)
  refuseUnsupported(fields, CREATE_PARAMETERS)
  const recipe = decodeRecipe(fields)
  const { contextLength } = decodeOptions(fields, 'parameters')
  const make = async (port: YardPort, signal: AbortSignal): Promise<string> => {
    const { digest } = await collectionOf(port).describe(recipe.from)
    const question = { port, model: recipe.from, signal }
    if (contextLength !== undefined) await requireContext(contextLength, question, 'parameters.num_ctx')
    collectionOf(port).make(name, recipe)
    return digest
  }
  if (optionalBoolean(fields, 'stream') ?? true) {
    return {
      type: 'progress',
      contentType: LINES,
      pieces: (port, signal) => createLines(make(port, signal)),
      fail: encodeErrorLine,
    }
  }
  return {
    type: 'answer',
    answer: async (port, signal) => {
      await make(port, signal)
      return { contentType: 'application/json', body: '{"status":"success"}' }
    },
  }
}

async function* createLines(made: Promise<string>): AsyncGenerator<string, void> {
  yield line({ status: `using existing layer sha256:${await made}` })
  yield line({ status: 'writing manifest' })
  yield line({ status: 'success' })
}

function decodeRecipe(fields: Fields): ModelRecipe {
  const from = optionalString(fields, 'from') ?? ''
  if (from === '') throw invalidField('from', `'from' must name the model that another one is made from.`)
  const { sampling, stop, maxTokens } = decodeOptions(fields, 'parameters')
  const system = optionalString(fields, 'system')
  const messages = optionalArray(fields, 'messages')
  const license = decodeLicense(fields['license'])
  const { logitBias: _, ...defaults } = sampling
  return {
    from,
    defaults: { ...defaults, ...(maxTokens === undefined ? {} : { maxTokens }) },
    ...(system === undefined ? {} : { system }),
    ...(messages === undefined || messages.length === 0 ? {} : { messages: decodeMessages(messages) }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(license === undefined ? {} : { license }),
  }
}

/** One text or several. */
function decodeLicense(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value)) return asString(value, 'license')
  return value.map((text, index) => asString(text, `license[${index}]`)).join('\n\n')
}

/** `POST /api/copy` */
export function copyModel({ body }: DialectRequest): AnswerAction {
  const fields = decodeBody(body)
  const [source, destination] = ['source', 'destination'].map((name) => {
    const value = asString(fields[name], name)
    checkModelName(value, '/api/tags')
    return value
  }) as [string, string]
  return {
    type: 'answer',
    answer: async (port) => {
      collectionOf(port).make(destination, { from: source, defaults: {} })
      return EMPTY
    },
  }
}

/** `DELETE /api/delete` */
export function deleteModel({ body }: DialectRequest): AnswerAction {
  const name = decodeName(decodeBody(body))
  return {
    type: 'answer',
    answer: async (port) => {
      await collectionOf(port).remove(name)
      return EMPTY
    },
  }
}

/** `POST /api/push` */
export function pushModel(): never {
  throw notImplemented('model', 'This server publishes no models: there is no place that it could push to.')
}

const DIGEST = /^sha256[:-][0-9a-f]{64}$/i

function checkDigest({ params }: DialectRequest): void {
  if (DIGEST.test(params['*'] ?? '')) return
  throw invalidField('digest', `The path must end with a digest such as sha256:… of 64 hex digits.`)
}

/** `HEAD /api/blobs/{digest}`: none was ever sent here. */
export function findBlob(request: DialectRequest): AnswerAction {
  checkDigest(request)
  return { type: 'answer', answer: async () => ({ ...EMPTY, status: 404 }) }
}

/** `POST /api/blobs/{digest}` */
export function createBlob(request: DialectRequest): never {
  checkDigest(request)
  throw notImplemented(
    'digest',
    'This server takes no weights over HTTP: put the file into the models folder, or pull the model.',
  )
}
