import { describe, expect, it } from 'vitest'
import { mutate, random, type Json } from '../../test/http/mutate.ts'
import { dialectRequest } from '../../test/http/transcript.ts'
import { SOUND, VALID_BODIES, VALID_FORM } from '../../test/http/valid-bodies.ts'
import { ModelyardError } from '../base/errors.ts'
import { errorStatus } from '../server/error-status.ts'
import { checkTask } from '../tasks/check-task.ts'
import type { Dialect } from './dialect.ts'
import { openAiDialect } from './openai/openai-dialect.ts'

/** What came of a body: `accepted`, or the code of the error. Anything else is thrown. */
function outcomeOf(dialect: Dialect, path: string, body: unknown): string {
  const route = dialect.routes.find((one) => one.path === path && one.method === 'POST')
  if (route === undefined) throw new Error(`no route ${path}`)
  try {
    const action = route.decode(dialectRequest({ body }))
    if (action.type === 'run') for (const task of action.tasks) checkTask(task)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof ModelyardError)) throw error
    const status = dialect.errorStatus?.(error) ?? errorStatus(error)
    JSON.parse(dialect.errorBody(error, status, 'req_1'))
    return status === 400 || status === 501 ? error.code : `${error.code} ${status}`
  }
}

const ROUNDS = 2000
const REASONS = new Set(['accepted', 'invalid_request', 'unsupported'])

function bodyOf(index: number): (typeof VALID_BODIES)[number] {
  return VALID_BODIES[index] as (typeof VALID_BODIES)[number]
}

const ROUTES = VALID_BODIES.map(([{ name }, path], index): [string, string, number] => [name, path, index])

describe('bodies that are nearly right', () => {
  it.each(ROUTES)('%s %s: the right one is accepted', (_name, _path, index) => {
    expect(outcomeOf(...bodyOf(index))).toBe('accepted')
  })

  it.each(ROUTES)(
    `%s %s: ${ROUNDS} broken ones are accepted or refused with a reason, and nothing else happens`,
    (_name, _path, index) => {
      const [dialect, path, body] = bodyOf(index)
      const next = random(index + 1)
      const outcomes = new Set<string>()
      for (let round = 0; round < ROUNDS; round++) {
        const broken = mutate(body, next)
        try {
          outcomes.add(outcomeOf(dialect, path, broken))
        } catch (error) {
          throw new Error(`${path} broke on ${JSON.stringify(broken)}`, { cause: error })
        }
      }
      expect([...outcomes].filter((outcome) => !REASONS.has(outcome))).toEqual([])
      expect(outcomes.has('invalid_request')).toBe(true)
    },
  )
})

describe('forms that are nearly right', () => {
  const withFile = (fields: Json): object => ({ ...(fields as object), file: { name: 'x.wav', data: SOUND } })

  it.each(['/audio/transcriptions', '/audio/translations'])(
    '%s: the right one is accepted, broken ones are or are refused with a reason',
    (path) => {
      expect(outcomeOf(openAiDialect, path, withFile(VALID_FORM))).toBe('accepted')
      const next = random(1)
      const outcomes = new Set<string>()
      for (let round = 0; round < ROUNDS; round++) {
        const broken = mutate(VALID_FORM, next)
        outcomes.add(outcomeOf(openAiDialect, path, next() < 0.9 ? withFile(broken) : broken))
      }
      expect([...outcomes].filter((outcome) => !REASONS.has(outcome))).toEqual([])
      expect(outcomes.has('invalid_request')).toBe(true)
    },
  )
})
