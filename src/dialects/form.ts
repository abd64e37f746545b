import { invalidField, wrongType, type Fields } from './fields.ts'

/** A file of a form (`multipart/form-data`), as the server hands it to a dialect among the form's fields. */
export interface FormFile {
  name: string
  data: Uint8Array
}

export function isFormFile(value: unknown): value is FormFile {
  return typeof value === 'object' && value !== null && 'data' in value && value.data instanceof Uint8Array
}

/** The file of that name. @throws invalid_request when it is missing, a text or empty */
export function requireFile(fields: Fields, name: string): FormFile {
  const value = fields[name]
  if (value === undefined)
    throw invalidField(name, `'${name}' is missing; send a file of that name in the form.`)
  if (!isFormFile(value)) throw wrongType(name, 'a file', value)
  if (value.data.length === 0) throw invalidField(name, `The file '${name}' is empty.`)
  return value
}

/** In forms all values are texts: those that are meant as numbers and flags become such. Others stay, for the checks to refuse. */
export function typedFields(fields: Fields, numbers: readonly string[], flags: readonly string[]): Fields {
  const typed: Fields = { ...fields }
  for (const name of numbers) {
    const value = typed[name]
    if (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value)))
      typed[name] = Number(value)
  }
  for (const name of flags) {
    if (typed[name] === 'true' || typed[name] === 'false') typed[name] = typed[name] === 'true'
  }
  return typed
}
