import { describe, expect, it } from 'vitest'
import { decodeKeepAlive, decodeRunOptions } from './decode-keep-alive.ts'

describe('keep_alive (BR-36, with the cases of Ollama’s own types_test.go)', () => {
  it.each([
    [0, 0],
    [-1, -1],
    [-3.14, -1],
    [42, 42_000],
    [42.5, 42_500],
    ['0', 0],
    ['0s', 0],
    ['-1', -1],
    ['-1m', -1],
    ['-0.5s', -1],
    ['42', 42_000],
    ['42.5', 42_500],
    ['42m', 2_520_000],
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['2h45m0.5s', 9_900_500],
    ['300ms', 300],
    ['+5m', 300_000],
    ['.5s', 500],
    ['1.s', 1000],
    ['1us', 1],
    ['1500µs', 2],
    ['1500μs', 2],
    ['1ns', 1],
    [1e300, -1],
    ['1e3', undefined],
    ['99999999999999h', -1],
  ])('%j is %j ms', (value, milliseconds) => {
    let decoded: number | undefined
    try {
      decoded = decodeKeepAlive(value)
    } catch {
      decoded = undefined
    }
    expect(decoded).toBe(milliseconds)
  })

  it.each([
    ['', '""'],
    ['abc', '"abc"'],
    ['5 m', '"5 m"'],
    ['1d', '"1d"'],
    ['m', '"m"'],
    ['.s', '".s"'],
    ['--1m', '"--1m"'],
    ['x'.repeat(100), `"${'x'.repeat(32)}…"`],
  ])('%j is a 400 with the value', (value, shown) => {
    expect(() => decodeKeepAlive(value)).toThrowError(
      expect.objectContaining({
        code: 'invalid_request',
        details: { param: 'keep_alive' },
        message: expect.stringContaining(`: ${shown}.`) as string,
      }) as Error,
    )
  })

  it.each([[true], [{}], [[5]]])('%j is a 400', (value) => {
    expect(() => decodeKeepAlive(value)).toThrow("'keep_alive'")
  })

  it('null is absent; the body comes before the header, and the header is read where it says nothing', () => {
    const headers = { 'modelyard-keep-alive': '5m', 'modelyard-priority': 'background' }
    expect(decodeRunOptions({ keep_alive: null }, {})).toEqual({})
    expect(decodeRunOptions({ keep_alive: null, session: 'a' }, headers)).toEqual({
      keepAlive: 300_000,
      priority: 'background',
      session: 'a',
    })
    expect(decodeRunOptions({ keep_alive: '1us' }, headers).keepAlive).toBe(1)
  })
})
