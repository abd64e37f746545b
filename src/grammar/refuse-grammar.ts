import { ModelyardError } from '../base/errors.ts'

/** @param where JSON pointer of the keyword inside the schema */
export function refuseSchema(where: string, message: string): never {
  throw new ModelyardError('invalid_request', `The schema cannot be held at "${shown(where)}": ${message}`, {
    details: { param: 'format', keyword: shown(where) },
  })
}

export function refuseGrammar(message: string): never {
  throw new ModelyardError('invalid_request', `The grammar cannot be used: ${message}`, {
    details: { param: 'format' },
  })
}

const MOST_SHOWN = 200

function shown(pointer: string): string {
  if (pointer === '') return '#'
  return pointer.length <= MOST_SHOWN ? `#${pointer}` : `#${pointer.slice(0, MOST_SHOWN)}…`
}
