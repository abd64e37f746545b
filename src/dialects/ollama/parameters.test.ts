import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { refuseUnsupported, type ParameterTable } from '../parameter-table.ts'
import {
  CHAT_PARAMETERS,
  CREATE_PARAMETERS,
  EMBED_PARAMETERS,
  EMBEDDINGS_PARAMETERS,
  GENERATE_PARAMETERS,
  OPTION_PARAMETERS,
} from './parameters.ts'

const SDK = join(dirname(createRequire(import.meta.url).resolve('ollama')), '../src/interfaces.ts')

/** Property names of an interface in the official SDK's source. */
function documented(name: string): string[] {
  const text = readFileSync(SDK, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const start = text.indexOf('{', text.indexOf(`interface ${name} `))
  const body = text.slice(start, text.indexOf('\n}', start))
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, property]) => property ?? '')
}

/** What the API's reference has beyond the SDK. */
const TABLES: [string, ParameterTable, string[]][] = [
  ['GenerateRequest', GENERATE_PARAMETERS, ['truncate', 'shift']],
  ['ChatRequest', CHAT_PARAMETERS, ['truncate', 'shift']],
  ['EmbedRequest', EMBED_PARAMETERS, []],
  ['EmbeddingsRequest', EMBEDDINGS_PARAMETERS, []],
  ['CreateRequest', CREATE_PARAMETERS, ['name', 'files', 'modelfile', 'path']],
  ['Options', OPTION_PARAMETERS, []],
]

const ASKING: Record<string, unknown> = {
  string: 'banana',
  boolean: true,
  number: 2,
  object: { some: 'thing' },
}
const WRONG: Record<string, unknown> = { string: 5, boolean: 'yes', number: '5', object: [] }

const rows = TABLES.flatMap(([route, table]) =>
  [...table].flatMap(([name, handling]) =>
    handling.by === 'task' || handling.by === 'answer' ? [] : [{ route, name, handling, table }],
  ),
)

describe('the parameters of the API reference', () => {
  it.each(TABLES)('%s: each documented one has a handling, and nothing else has', (name, table, more) => {
    const names = documented(name)
    expect(names.length).toBeGreaterThan(3)
    expect([...table.keys()].sort()).toEqual([...names, ...more].sort())
  })

  it.each(rows)('$route.$name: null is accepted, another type is a 400', ({ name, handling, table }) => {
    expect(() => refuseUnsupported({ [name]: null }, table)).not.toThrow()
    expect(() => refuseUnsupported({ [name]: WRONG[handling.type] }, table, 'options.')).toThrowError(
      expect.objectContaining({ code: 'invalid_request', details: { param: `options.${name}` } }) as Error,
    )
  })

  it.each(rows)('$route.$name: what asks for nothing is accepted, the rest as the table says', (row) => {
    const { name, handling, table } = row
    for (const value of handling.by === 'neutral' ? handling.values : [ASKING[handling.type]]) {
      expect(() => refuseUnsupported({ [name]: value }, table)).not.toThrow()
    }
    const other = handling.type === 'boolean' && name === 'penalize_newline' ? false : ASKING[handling.type]
    const outcome = (): void => refuseUnsupported({ [name]: other }, table)
    const refusal = expect.objectContaining({ code: 'unsupported' }) as Error
    expect(handling.by === 'label' ? [outcome()] : refusalOf(outcome)).toEqual(
      handling.by === 'label' ? [undefined] : refusal,
    )
  })
})

function refusalOf(act: () => void): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}
