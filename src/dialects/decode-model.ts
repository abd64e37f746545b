import { isMap } from '../base/is-map.ts'
import { asString, invalidField, wrongType, type Fields } from './fields.ts'

const LONGEST_NAME = 512

/** The body as an object. @throws invalid_request */
export function decodeBody(body: unknown): Fields {
  if (isMap(body)) return body
  throw wrongType('body', 'a JSON object', body)
}

/** The model's name. @throws invalid_request */
export function decodeModel(body: Fields): string {
  if (body['model'] === undefined)
    throw invalidField('model', `'model' is missing; name a model of /v1/models.`)
  const model = asString(body['model'], 'model')
  checkModelName(model)
  return model
}

/**
 * @param list the route that lists models
 * @throws invalid_request for names that no model can have: a long one would make the search for near names slow
 */
export function checkModelName(model: string, list = '/v1/models'): void {
  if (model.length > LONGEST_NAME) {
    throw invalidField(
      'model',
      `'model' has ${model.length} characters; at most ${LONGEST_NAME} are allowed.`,
    )
  }
  if (model === '') throw invalidField('model', `'model' is empty; name a model of ${list}.`)
}
