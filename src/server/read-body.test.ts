import { describe, expect, it } from 'vitest'
import { parseJson } from './read-body.ts'

function parse(text: string, depth = 8): unknown {
  return parseJson(Buffer.from(text), depth)
}

describe('JSON bodies', () => {
  it.each(['{}', '[]', '0', 'null', '""', '{"a":[1,{"b":null}]}', '\uFEFF{"a":1}'])('%j is taken', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text.replace('\uFEFF', '')))
  })

  it.each([
    ['{"a":', 'it ends too early'],
    ['', 'empty'],
    ['{"secret" 1}', 'not valid JSON'],
  ])('%j is refused', (text, reason) => {
    expect(() => parse(text)).toThrow(reason)
  })

  it('says where it went wrong, and nothing of what is there', () => {
    expect(() => parse('{"a": "secret" oops}')).toThrowError(
      expect.objectContaining({ message: expect.not.stringMatching(/secret|oops/) as string }) as Error,
    )
  })

  it('counts nesting', () => {
    expect(parse('[[[{"a":[[{"b":[]}]]}]]]')).toBeDefined()
    expect(() => parse('[[[{"a":[[{"b":[[]]}]]}]]]')).toThrow('nested too deeply')
    expect(() => parse('['.repeat(1_000_000) + ']'.repeat(1_000_000))).toThrow('nested too deeply')
  })

  it('keeps a field named __proto__ a plain field', () => {
    const value = parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>
    expect([Object.hasOwn(value, '__proto__'), 'polluted' in {}]).toEqual([true, false])
  })
})
