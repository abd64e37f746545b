import { describe, expect, it } from 'vitest'
import type { Dialect } from '../dialects/dialect.ts'
import { controlErrors } from './control-errors.ts'
import { errorShapeOf } from './unknown-route.ts'

function dialect(name: string, prefixes: string[], claims?: Dialect['claims']): Dialect {
  const rest = claims === undefined ? {} : { claims }
  return { name, prefixes, routes: [], anyContentType: false, errorBody: () => name, ...rest }
}

const FIRST = dialect('first', ['/v1', '/first/v1'])
const SECOND = dialect(
  'second',
  ['/v1', '/second/v1'],
  (path, headers) => path === '/v1/own' || headers['second-version'] !== undefined,
)
const THIRD = dialect('third', ['/api'])

describe('the shape of errors under a path', () => {
  it.each([
    ['/v1/models', {}, FIRST],
    ['/v1/models', { 'second-version': '1' }, SECOND],
    ['/v1/own', {}, SECOND],
    ['/second/v1/nope', {}, SECOND],
    ['/first/v1/models', { 'second-version': '1' }, FIRST],
    ['/api/nope', { 'second-version': '1' }, THIRD],
    ['/apis', {}, FIRST],
    ['/nope', { 'second-version': '1' }, FIRST],
    ['/api/yard/nope', {}, controlErrors],
  ])('%s with %j', (path, headers, shape) => {
    expect(errorShapeOf(path, [FIRST, SECOND, THIRD], headers)).toBe(shape)
  })
})
