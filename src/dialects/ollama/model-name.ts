import { checkModelName } from '../decode-model.ts'
import { asString, invalidField, type Fields } from '../fields.ts'

/** `model`, or `name` as older clients say. @throws invalid_request */
export function decodeName(body: Fields): string {
  const value = body['model'] ?? body['name']
  if (value === undefined || value === null) throw invalidField('model', `'model' is required.`)
  const name = asString(value, 'model')
  checkModelName(name, '/api/tags')
  return name
}

/** A name as Ollama lists it: with its tag. */
export function taggedName(name: string): string {
  return name.includes(':', name.lastIndexOf('/') + 1) ? name : `${name}:latest`
}
