import { describe, expect, it } from 'vitest'
import { decodeExtensions } from './extensions.ts'

describe('extension fields of every dialect', () => {
  it.each([
    [0, 0],
    ['0', 0],
    [-1, -1],
    ['-1m', -1],
    [42, 42_000],
    [42.5, 42_500],
    ['1h30m', 5_400_000],
    ['250ms', 250],
  ])('keep_alive %j is %d ms', (value, milliseconds) => {
    expect(decodeExtensions({ keep_alive: value }, {})).toEqual({ keepAlive: milliseconds })
  })

  it.each([['abc'], [''], [true], [{}], [['5m']]])('keep_alive %j is a 400', (value) => {
    expect(() => decodeExtensions({ keep_alive: value }, {})).toThrowError(
      expect.objectContaining({ code: 'invalid_request', details: { param: 'keep_alive' } }) as Error,
    )
  })

  it.each([
    [{ timeout: 30 }, {}, 30_000],
    [{ timeout: 0 }, {}, 0],
    [{}, { 'modelyard-timeout': '250ms' }, 250],
    [{ timeout: null }, { 'modelyard-timeout': '2' }, 2000],
  ])('P13: timeout %j with headers %j is %d ms', (body, headers, milliseconds) => {
    expect(decodeExtensions(body, headers)).toEqual({ timeout: milliseconds })
  })

  it.each([
    ['priority', 'urgent'],
    ['timeout', -1],
    ['timeout', 'soon'],
    ['timeout', {}],
    ['priority', 1],
    ['session', ''],
    ['session', 5],
    ['session', 'x'.repeat(513)],
  ])('%s %j is a 400', (name, value) => {
    expect(() => decodeExtensions({ [name]: value }, {})).toThrowError(
      expect.objectContaining({ code: 'invalid_request', details: { param: name } }) as Error,
    )
  })

  it('reads the headers where the body says nothing or null', () => {
    const headers = {
      'modelyard-keep-alive': '5m',
      'modelyard-priority': 'background',
      'modelyard-session': 'a',
    }
    expect(decodeExtensions({ session: 'b', priority: null }, headers)).toEqual({
      keepAlive: 300_000,
      priority: 'background',
      session: 'b',
    })
  })

  it('is empty when nothing is asked', () => {
    expect(decodeExtensions({}, {})).toEqual({})
  })
})

describe('`cache`', () => {
  it('is `none` or nothing, from the body or the header', () => {
    expect(decodeExtensions({ cache: 'none' }, {})).toEqual({ cache: 'none' })
    expect(decodeExtensions({}, { 'modelyard-cache': 'none' })).toEqual({ cache: 'none' })
    expect(() => decodeExtensions({ cache: 'all' }, {})).toThrow("'cache' must be 'none', or left out.")
  })
})
