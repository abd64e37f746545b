import { refuseSchema } from '../refuse-grammar.ts'
import { isObject, type Schema } from './schema.ts'

/** The whole schema, for references into it. */
export class SchemaDocument {
  readonly #root: unknown

  constructor(root: unknown) {
    this.#root = root
  }

  /** @param reference `#` and a JSON pointer; nothing is ever fetched. @throws invalid_request */
  resolve(reference: unknown, where: string): Schema {
    if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
      return refuseSchema(
        where,
        'only references into the schema itself are supported, such as "#/$defs/name".',
      )
    }
    let target: unknown = this.#root
    for (const step of stepsOf(reference)) {
      const isInside = typeof target === 'object' && target !== null && Object.hasOwn(target, step)
      if (!isInside) return refuseSchema(where, 'the reference points to nothing.')
      target = (target as Record<string, unknown>)[step]
    }
    return asSchema(target, where)
  }
}

function stepsOf(reference: string): string[] {
  try {
    const pointer = decodeURIComponent(reference.slice(1))
    return pointer
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  } catch {
    return ['\0']
  }
}

export function asSchema(value: unknown, where: string): Schema {
  if (typeof value === 'boolean' || isObject(value)) return value
  return refuseSchema(where, 'a schema must be an object, true or false.')
}
