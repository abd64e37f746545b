import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RESPONSE_PARAMETERS } from '../openai-responses/parameters.ts'
import { refuseUnsupported, type ParameterTable } from '../parameter-table.ts'
import {
  CHAT_PARAMETERS,
  COMPLETION_PARAMETERS,
  EMBEDDING_PARAMETERS,
  IMAGE_PARAMETERS,
  SPEECH_PARAMETERS,
  TRANSCRIPTION_PARAMETERS,
} from './parameters.ts'

const SDK = dirname(createRequire(import.meta.url).resolve('openai'))

/** Property names of an interface in the official SDK's declarations: the published reference in a form that can be read. */
function documented(file: string, name: string): string[] {
  const text = readFileSync(join(SDK, 'resources', file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const start = text.indexOf('{', text.search(new RegExp(`interface ${name}[ <]`)))
  const names: string[] = []
  let depth = 0
  for (const line of text.slice(start).split('\n')) {
    const property = /^\s*(\w+)\??:/.exec(line)?.[1]
    if (depth === 1 && property !== undefined) names.push(property)
    depth += (line.match(/[{(]/g)?.length ?? 0) - (line.match(/[})]/g)?.length ?? 0)
    if (depth === 0) break
  }
  return names
}

const ROUTES: [string, string, string, ParameterTable][] = [
  ['chat', 'chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase', CHAT_PARAMETERS],
  ['responses', 'responses/responses.d.ts', 'ResponseCreateParamsBase', RESPONSE_PARAMETERS],
  ['completions', 'completions.d.ts', 'CompletionCreateParamsBase', COMPLETION_PARAMETERS],
  ['embeddings', 'embeddings.d.ts', 'EmbeddingCreateParams', EMBEDDING_PARAMETERS],
  ['images', 'images.d.ts', 'ImageGenerateParamsBase', IMAGE_PARAMETERS],
  ['speech', 'audio/speech.d.ts', 'SpeechCreateParams', SPEECH_PARAMETERS],
  ['transcriptions', 'audio/transcriptions.d.ts', 'TranscriptionCreateParamsBase', TRANSCRIPTION_PARAMETERS],
]

/** A value of each type that asks for something, and so is no neutral one. */
const ASKING: Record<string, unknown> = {
  string: 'banana',
  boolean: true,
  number: 2,
  object: { some: 'thing' },
  array: ['audio'],
  any: { some: 'thing' },
}

/** For each type a value of another. */
const WRONG: Record<string, unknown> = { string: 5, boolean: 'yes', number: '5', object: [], array: {} }

describe('the parameters of the API reference', () => {
  it.each(ROUTES)(
    '%s: each documented one has a handling, and nothing else has',
    (_route, file, name, table) => {
      const names = documented(file, name)
      expect(names.length).toBeGreaterThan(4)
      expect([...table.keys()].sort()).toEqual([...names].sort())
    },
  )

  const rows = ROUTES.flatMap(([route, , , table]) =>
    [...table].map(([name, handling]) => ({ route, name, handling, table })),
  )

  const checked = rows.flatMap(({ handling, ...row }) =>
    handling.by === 'task' || handling.by === 'answer' ? [] : [{ ...row, handling }],
  )
  const labels = checked.filter(({ handling }) => handling.by === 'label')
  const neutral = checked.flatMap(({ handling, ...row }) =>
    handling.by === 'neutral' ? [{ ...row, handling }] : [],
  )

  it.each(checked.filter(({ handling }) => handling.type !== 'any'))(
    '$route.$name: null is accepted, another type is a 400',
    ({ name, handling, table }) => {
      expect(() => refuseUnsupported({ [name]: null }, table)).not.toThrow()
      expect(() => refuseUnsupported({ [name]: WRONG[handling.type] }, table)).toThrowError(
        expect.objectContaining({ code: 'invalid_request', details: { param: name } }) as Error,
      )
    },
  )

  it.each(labels)('$route.$name: any value is accepted, it has no effect by definition', (row) => {
    expect(() => refuseUnsupported({ [row.name]: ASKING[row.handling.type] }, row.table)).not.toThrow()
  })

  it.each(neutral)('$route.$name: what asks for nothing is accepted, the rest is a 501', (row) => {
    const { name, handling, table } = row
    for (const value of handling.values) {
      expect(() => refuseUnsupported({ [name]: value }, table)).not.toThrow()
    }
    expect(() => refuseUnsupported({ [name]: ASKING[handling.type] }, table)).toThrowError(
      expect.objectContaining({ code: 'unsupported', details: { param: name, httpStatus: 501 } }) as Error,
    )
  })

  it.each([0, -1, 1.5])('best_of: %d is wrong rather than unsupported', (best_of) => {
    expect(() => refuseUnsupported({ best_of }, COMPLETION_PARAMETERS)).toThrowError(
      expect.objectContaining({ code: 'invalid_request', details: { param: 'best_of' } }) as Error,
    )
  })

  it('ignores what the reference does not document', () => {
    expect(() =>
      refuseUnsupported({ unheard_of: { at: 'all' }, constructor: 1 }, CHAT_PARAMETERS),
    ).not.toThrow()
  })
})
