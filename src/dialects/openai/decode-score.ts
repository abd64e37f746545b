import type { RerankTask } from '../../tasks/rerank-task.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import type { DialectRequest, RunAction } from '../dialect.ts'
import { decodeExtensions } from '../extensions.ts'
import { asArray, asString, invalidField, type Fields } from '../fields.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { ScoreAnswer } from './encode-score.ts'
import { SCORE_PARAMETERS } from './parameters.ts'

const MOST_PAIRS = 1000

/** `POST /v1/score`, as vLLM has it: how well texts answer one text, or pairs of texts each other. */
export function decodeScore(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, SCORE_PARAMETERS)
  return {
    type: 'run',
    model,
    tasks: decodeScoreTasks(body),
    options: decodeExtensions(body, request.headers),
    encoder: new ScoreAnswer({ id: `score-${request.id}`, created: request.created, model }),
    featureFields: { task: 'model' },
  }
}

/** One task where `text_1` is one text; else one for each pair. @throws ModelyardError that names the wrong field */
export function decodeScoreTasks(body: Fields): RerankTask[] {
  const queries = decodeTexts(body, 'text_1')
  const documents = decodeTexts(body, 'text_2')
  const [query = ''] = queries
  if (queries.length === 1) return [{ kind: 'rerank', query, documents }]
  if (queries.length !== documents.length) {
    throw invalidField(
      'text_2',
      `'text_1' has ${queries.length} texts and 'text_2' has ${documents.length}; send one text_1, or as many as text_2.`,
    )
  }
  return queries.map((text, index) => ({
    kind: 'rerank',
    query: text,
    documents: documents.slice(index, index + 1),
  }))
}

function decodeTexts(body: Fields, name: string): string[] {
  const value = body[name]
  if (value === undefined) throw invalidField(name, `'${name}' is missing.`)
  const texts = typeof value === 'string' ? [value] : asArray(value, name)
  if (texts.length === 0) throw invalidField(name, `'${name}' is an empty array.`)
  if (texts.length > MOST_PAIRS) {
    throw invalidField(name, `'${name}' has ${texts.length} texts; at most ${MOST_PAIRS} are allowed.`)
  }
  return texts.map((text, index) => {
    const param = typeof value === 'string' ? name : `${name}[${index}]`
    const checked = asString(text, param)
    if (name === 'text_1' && checked === '') throw invalidField(param, `'${param}' is an empty string.`)
    return checked
  })
}
