import { asString, invalidField, isFields, wrongType, type Fields } from '../fields.ts'

/** The body as an object. @throws invalid_request */
export function decodeBody(body: unknown): Fields {
  if (isFields(body)) return body
  throw wrongType('body', 'a JSON object', body)
}

/** The model's name. @throws invalid_request */
export function decodeModel(body: Fields): string {
  if (body['model'] === undefined)
    throw invalidField('model', `'model' is missing; name a model of /v1/models.`)
  const model = asString(body['model'], 'model')
  if (model === '') throw invalidField('model', `'model' is empty; name a model of /v1/models.`)
  return model
}
