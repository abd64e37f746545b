import { isMap } from '../../base/is-map.ts'
import type { EmbeddingInput, EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import { decodeExtensions } from '../extensions.ts'
import { decodeImage } from '../decode-image.ts'
import {
  asArray,
  asString,
  invalidField,
  optionalChoice,
  optionalNumber,
  wrongType,
  type Fields,
} from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { decodeTokens } from './decode-completion.ts'
import { EmbeddingAnswer } from './encode-embedding.ts'
import { EMBEDDING_FEATURE_FIELDS } from './feature-fields.ts'
import { EMBEDDING_PARAMETERS } from './parameters.ts'

/** `POST /v1/embeddings` */
export function decodeEmbedding(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, EMBEDDING_PARAMETERS)
  const format = optionalChoice(body, 'encoding_format', ['float', 'base64'] as const) ?? 'float'
  const task = decodeEmbeddingTask(body)
  return {
    type: 'run',
    model,
    tasks: [task],
    options: decodeExtensions(body, request.headers),
    encoder: new EmbeddingAnswer(model, format, task.inputs.length),
    featureFields: EMBEDDING_FEATURE_FIELDS,
    nameField: (param) => inputField(param, body['input']),
  }
}

/** A task's inputs are a list: `input[0]` is `input` here where that is none, and what an object holds is named with its field. */
function inputField(param: string, input: unknown): string {
  const place = /^input\[(\d+)\]$/.exec(param)?.[1]
  if (place === undefined) return param
  const isList = Array.isArray(input) && typeof input[0] !== 'number'
  const entry: unknown = isList ? input[Number(place)] : input
  const name = isList ? param : 'input'
  return isMap(entry) ? `${name}.${'image' in entry ? 'image' : 'text'}` : name
}

/** @throws ModelyardError that names a wrong input by its index */
export function decodeEmbeddingTask(body: Fields): EmbeddingTask {
  const task: EmbeddingTask = { kind: 'embedding', inputs: decodeInputs(body['input']) }
  const dimensions = optionalNumber(body, 'dimensions', { least: 1, integer: true })
  if (dimensions !== undefined) task.dimensions = dimensions
  return task
}

/**
 * A text, texts, one list of token ids, or several (BR-33). Empty texts are refused, as in the API, which has no images: they are objects,
 * `{image}` beside `{text}`, as Jina's API has them.
 */
function decodeInputs(value: unknown): EmbeddingInput[] {
  if (typeof value === 'string' || isMap(value)) return [decodeInput(value, 'input', false)]
  if (value === undefined) throw invalidField('input', `'input' is missing.`)
  const inputs = asArray(value, 'input')
  if (inputs.length === 0) throw invalidField('input', `'input' is an empty array.`)
  if (typeof inputs[0] === 'number') return [decodeTokens(inputs, 'input')]
  const tokens = Array.isArray(inputs[0])
  return inputs.map((input, index) => decodeInput(input, `input[${index}]`, tokens))
}

function decodeInput(input: unknown, param: string, tokens: boolean): EmbeddingInput {
  if (tokens && Array.isArray(input)) return decodeTokens(input, param)
  if (!tokens && typeof input === 'string') return checkText(input, param)
  if (!tokens && isMap(input)) return decodeObject(input, param)
  throw wrongType(param, tokens ? 'an array of token ids, as the first is' : 'a string', input)
}

/** `{text}` or `{image: "data:…"}`, and nothing else. */
function decodeObject(input: Fields, param: string): string | Uint8Array {
  const [name, ...others] = Object.keys(input)
  const field = `${param}.${name}`
  if (others.length > 0 || (name !== 'text' && name !== 'image'))
    throw invalidField(param, `'${param}' must have one field, 'text' or 'image'.`)
  const value = asString(input[name], field)
  return name === 'text' ? checkText(value, field) : decodeImage(value, field)
}

function checkText(text: string, param: string): string {
  if (text === '') throw invalidField(param, `'${param}' is an empty string.`)
  return text
}
