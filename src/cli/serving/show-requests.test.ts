import { expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import { requestLine } from './show-requests.ts'

const RECORD = { id: 'req_1', method: 'POST', path: '/v1/chat/completions', status: 200, milliseconds: 12.6 }

it('a request is one line with time, id, status and duration', () => {
  expect(requestLine(RECORD, 0)).toBe('1970-01-01T00:00:00.000Z req_1 POST /v1/chat/completions 200 13 ms')
})

it('an error is told by its code alone: its sentence may name what a user wrote', () => {
  const error = new ModelyardError('model_not_found', 'There is no model "secret".')
  expect(requestLine({ ...RECORD, status: 404, error }, 0)).toMatch(/ 404 13 ms model_not_found$/)
})

it('a path cannot write on the terminal', () => {
  expect(requestLine({ ...RECORD, path: '/\u001B[2J x' }, 0)).toContain(' /%1B[2J%20x ')
})
