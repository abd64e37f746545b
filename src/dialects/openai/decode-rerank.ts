import { isMap } from '../../base/is-map.ts'
import type { RerankTask } from '../../tasks/rerank-task.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { decodeExtensions } from '../extensions.ts'
import {
  asArray,
  asString,
  invalidField,
  optionalBoolean,
  optionalNumber,
  wrongType,
  type Fields,
} from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { RerankAnswer } from './encode-rerank.ts'
import { RERANK_PARAMETERS } from './parameters.ts'

const MOST_DOCUMENTS = 10_000

/** `POST /v1/rerank`, as Jina and Cohere have it: OpenAI has none. */
export function decodeRerank(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, RERANK_PARAMETERS)
  const task = decodeRerankTask(body)
  const topN = optionalNumber(body, 'top_n', { least: 0, integer: true })
  const withDocuments = optionalBoolean(body, 'return_documents') ?? false
  return {
    type: 'run',
    model,
    tasks: [task],
    options: decodeExtensions(body, request.headers),
    encoder: new RerankAnswer({ id: `rerank-${request.id}`, model }, task.documents, {
      withDocuments,
      ...(topN === undefined ? {} : { topN }),
    }),
    featureFields: { task: 'model' },
  }
}

/** @throws ModelyardError that names a wrong document by its index */
export function decodeRerankTask(body: Fields): RerankTask {
  if (body['query'] === undefined) throw invalidField('query', `'query' is missing.`)
  const query = asString(body['query'], 'query')
  if (query === '') throw invalidField('query', `'query' is an empty string.`)
  if (body['documents'] === undefined) throw invalidField('documents', `'documents' is missing.`)
  const documents = asArray(body['documents'], 'documents')
  if (documents.length === 0) throw invalidField('documents', `'documents' is an empty array.`)
  if (documents.length > MOST_DOCUMENTS) {
    throw invalidField(
      'documents',
      `'documents' has ${documents.length} entries; at most ${MOST_DOCUMENTS} are allowed.`,
    )
  }
  return { kind: 'rerank', query, documents: documents.map(decodeDocument) }
}

/** A text, or an object with one. */
function decodeDocument(value: unknown, index: number): string {
  const param = `documents[${index}]`
  if (typeof value === 'string') return value
  if (!isMap(value)) throw wrongType(param, "a string or an object with 'text'", value)
  return asString(value['text'], `${param}.text`)
}
