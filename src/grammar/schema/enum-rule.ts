import { choice, sequence, text, type Expression } from '../expression.ts'
import type { KeywordReader } from './read-keywords.ts'
import { isObject, KEYWORDS_OF_TYPES, type JsonType } from './schema.ts'

const DEEPEST = 50

/** What values of an enumeration are not looked at for. */
const UNCHECKED: Readonly<Partial<Record<JsonType, readonly string[]>>> = {
  object: KEYWORDS_OF_TYPES.object,
  array: KEYWORDS_OF_TYPES.array,
  string: ['format', 'pattern'],
  number: ['multipleOf'],
}

/** The values themselves, as JSON writes them; undefined when none of them fits the other keywords. */
export function enumRule(reader: KeywordReader, types: readonly JsonType[]): Expression | undefined {
  const values = reader.list('enum') ?? []
  const fitting = values.filter((value) => isOfType(value, types) && fitsBounds(value, reader))
  for (const [type, keywords] of Object.entries(UNCHECKED))
    if (fitting.some((value) => isOfType(value, [type as JsonType]))) reader.refuseAll(keywords)
  const written = [...new Set(fitting.map((value) => JSON.stringify(value)))]
  return written.length === 0 ? undefined : oneOfTexts(written.map((value) => Array.from(value)))
}

export function isOfType(value: unknown, types: readonly JsonType[]): boolean {
  return types.some((type) => {
    switch (type) {
      case 'object':
        return isObject(value)
      case 'array':
        return Array.isArray(value)
      case 'integer':
        return Number.isInteger(value)
      case 'null':
        return value === null
      default:
        return typeof value === type
    }
  })
}

function fitsBounds(value: unknown, reader: KeywordReader): boolean {
  if (typeof value === 'string') {
    const [least, most] = reader.counts('minLength', 'maxLength')
    const { length } = Array.from(value)
    return length >= least && length <= most
  }
  if (typeof value !== 'number') return true
  return (
    value >= (reader.number('minimum') ?? -Infinity) &&
    value <= (reader.number('maximum') ?? Infinity) &&
    value > (reader.number('exclusiveMinimum') ?? -Infinity) &&
    value < (reader.number('exclusiveMaximum') ?? Infinity)
  )
}

/** Texts that begin alike share their beginning: the engine follows each possibility for itself. */
function oneOfTexts(texts: readonly (readonly string[])[], depth = 0): Expression {
  const [first = [], ...others] = texts
  if (others.length === 0 || depth > DEEPEST) return choice(...texts.map((one) => text(one.join(''))))
  const byFirst = new Map<string, (readonly string[])[]>()
  for (const one of texts) {
    const group = byFirst.get(one[0] ?? '')
    if (group === undefined) byFirst.set(one[0] ?? '', [one])
    else group.push(one)
  }
  if (byFirst.size > 1)
    return choice(...Array.from(byFirst.values(), (group) => oneOfTexts(group, depth + 1)))
  const shared = first.findIndex((character, index) => others.some((other) => other[index] !== character))
  const length = shared === -1 ? first.length : shared
  return sequence(
    text(first.slice(0, length).join('')),
    oneOfTexts(
      texts.map((one) => one.slice(length)),
      depth + 1,
    ),
  )
}
