import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { refuseUnsupported, type ParameterTable } from '../parameter-table.ts'
import { COUNT_PARAMETERS, MESSAGE_PARAMETERS } from './parameters.ts'

const SDK = dirname(createRequire(import.meta.url).resolve('@anthropic-ai/sdk'))

/** Property names of an interface in the official SDK's declarations: the published reference in a form that can be read. */
function documented(file: string, name: string): string[] {
  const text = readFileSync(join(SDK, 'resources', file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const start = text.indexOf('{', text.indexOf(`interface ${name} `))
  const body = text.slice(start, text.indexOf('\n}', start))
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, property]) => property ?? '')
}

/** Of models that the newest reference no longer lists; all clients know them. */
const OLDER = ['temperature', 'top_k', 'top_p']

const ASKING: Record<string, unknown> = {
  string: 'banana',
  object: { some: 'thing' },
  array: [{ some: 'thing' }],
  any: { some: 'thing' },
}
const WRONG: Record<string, unknown> = { string: 5, object: [], array: {} }

const rowsOf = (route: string, table: ParameterTable) =>
  [...table].flatMap(([name, handling]) =>
    handling.by === 'task' || handling.by === 'answer' ? [] : [{ route, name, handling, table }],
  )
const rows = [...rowsOf('messages', MESSAGE_PARAMETERS), ...rowsOf('count_tokens', COUNT_PARAMETERS)]

describe('the parameters of the API reference', () => {
  it('messages: each documented one has a handling, the beta’s and the older ones too, and nothing else has', () => {
    const stable = documented('messages/messages.d.ts', 'MessageCreateParamsBase')
    const beta = documented('beta/messages/messages.d.ts', 'MessageCreateParamsBase')
    expect(stable.length).toBeGreaterThan(15)
    expect(beta.length).toBeGreaterThan(stable.length)
    expect([...MESSAGE_PARAMETERS.keys()].sort()).toEqual([...new Set([...stable, ...beta, ...OLDER])].sort())
  })

  it('count_tokens: each documented one has a handling, and nothing else has', () => {
    const names = documented('messages/messages.d.ts', 'MessageCountTokensParams')
    expect([...COUNT_PARAMETERS.keys()].sort()).toEqual([...names].sort())
  })

  it.each(rows)('$route.$name: null is accepted, another type is a 400', ({ name, handling, table }) => {
    expect(() => refuseUnsupported({ [name]: null }, table)).not.toThrow()
    if (handling.type === 'any') return
    expect(() => refuseUnsupported({ [name]: WRONG[handling.type] }, table)).toThrowError(
      expect.objectContaining({ code: 'invalid_request', details: { param: name } }) as Error,
    )
  })

  it.each(rows.filter(({ handling }) => handling.by === 'label'))(
    '$route.$name: any value is accepted',
    ({ name, handling, table }) => {
      expect(() => refuseUnsupported({ [name]: ASKING[handling.type] }, table)).not.toThrow()
    },
  )

  it.each(rows.flatMap(({ handling, ...row }) => (handling.by === 'neutral' ? [{ ...row, handling }] : [])))(
    '$route.$name: what asks for nothing is accepted, the rest is refused',
    ({ name, handling, table }) => {
      for (const value of handling.values) {
        expect(() => refuseUnsupported({ [name]: value }, table)).not.toThrow()
      }
      expect(() => refuseUnsupported({ [name]: ASKING[handling.type] }, table)).toThrowError(
        expect.objectContaining({ code: 'unsupported' }) as Error,
      )
    },
  )
})
