import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { either, list, mapOf, object, oneOrMore } from './compound-shapes.ts'
import { ModelyardError } from './errors.ts'
import { choice, duration, filePath, flag, number, size, text } from './scalar-shapes.ts'
import { described, pathText, readShape, type Shape } from './shape.ts'

const read = <Value>(shape: Shape<Value>, value: unknown): Value =>
  readShape(shape, value, { directory: '/work/here', what: 'test' })

function complaint(shape: Shape<unknown>, value: unknown): string {
  try {
    read(shape, value)
  } catch (error) {
    if (error instanceof ModelyardError && error.code === 'config_invalid') return error.message
    throw error
  }
  return 'accepted'
}

describe('scalar shapes', () => {
  it('turns sizes into bytes and durations into milliseconds', () => {
    expect(read(size(), '6GiB')).toBe(6 * 1024 ** 3)
    expect(read(size(), 0)).toBe(0)
    expect(read(duration(), '1h30m')).toBe(5_400_000)
    expect(read(duration(), 42.5)).toBe(42_500)
    expect(read(duration(), 0)).toBe(0)
  })

  it('reads any negative duration as for ever, where that has a meaning (BR-36)', () => {
    expect(read(duration(), -7)).toBe(-1)
    expect(read(duration(), '-1m')).toBe(-1)
    expect(complaint(duration({ finite: true }), '-1m')).toContain('negative')
  })

  it.each([
    [size(), 'six', 'is not a size'],
    [size(), true, 'must be a size in bytes or such as "6GiB", not true'],
    [duration(), 'abc', 'is not a duration'],
    [duration(), '', 'is not a duration'],
    [number({ min: 1, whole: true }), 1.5, 'must be a whole number of at least 1, not 1.5'],
    [number({ min: 0, max: 1 }), 2, 'must be a number from 0 to 1, not 2'],
    [number({ above: 0 }), 0, 'must be a number above 0, not 0'],
    [number({ min: 0 }), Infinity, 'not Infinity'],
    [number(), '5', 'must be a number, not text'],
    [number(), Number.NaN, 'must be a number'],
    [flag(), 'yes', 'must be true or false, not text'],
    [text(), 5, 'must be text, not a number; put it in quotes'],
    [text({ pattern: /^a+$/, wants: 'the letter a' }), 'b', 'must be the letter a'],
    [filePath(), '', 'must be a path, not an empty text'],
    [choice('worker', 'none'), 'wroker', 'must be "worker" or "none"; did you mean "worker"?'],
  ])('says what is wrong: %#', (shape, value, words) => {
    expect(complaint(shape as Shape<unknown>, value)).toContain(words)
  })

  it('makes paths absolute, from the home folder or from where the file stands', () => {
    expect(read(filePath(), './a.gguf')).toBe('/work/here/a.gguf')
    expect(read(filePath(), '/x/a.gguf')).toBe('/x/a.gguf')
    expect(read(filePath(), '~/a.gguf')).toBe(join(homedir(), 'a.gguf'))
  })
})

describe('compound shapes', () => {
  const model = object({ slots: number({ min: 1, whole: true }), gpu: either(flag(), text()) })

  it('names the nearest known option for one it does not know (P1)', () => {
    expect(complaint(model, { slotz: 2 })).toBe('test: slotz is not an option; did you mean "slots"?')
    expect(complaint(model, { quite_other: 2 })).toContain('known are slots, gpu')
  })

  it('does not take names of every object for options', () => {
    expect(complaint(model, { constructor: 1 })).toContain('constructor is not an option')
    expect(complaint(model, JSON.parse('{"__proto__": 1}'))).toContain('__proto__ is not an option')
  })

  it('counts null as absent, as a YAML name without a value is', () => {
    expect(read(model, { slots: null })).toEqual({})
  })

  it('keeps zero, false and the empty text: they are values', () => {
    const shape = object({ a: number(), b: flag(), c: text(), d: list(text()) })
    const values = { a: 0, b: false, c: '', d: [] }
    expect(read(shape, values)).toEqual(values)
  })

  it('reports every problem with its place', () => {
    const shape = object({ models: mapOf(model, { pattern: /^[a-z/]+$/, wants: 'small letters' }) })
    const wrong = { models: { 'a/b': { slots: 0 }, X: {}, c: { gpu: 7 } } }
    expect(complaint(shape, wrong).split('\n')).toEqual([
      'test: models["a/b"].slots must be a whole number of at least 1, not 0',
      'test: models.X is not a valid name: small letters',
      'test: models.c.gpu must be true or false, or text, not a number',
    ])
  })

  it('counts the problems it does not show', () => {
    const many = Array.from({ length: 8 }, () => 'x')
    expect(complaint(list(number()), many)).toContain('… and 3 more')
  })

  it('asks for what is required', () => {
    expect(complaint(object({ name: text() }, { required: ['name'] }), { name: null })).toContain(
      'needs "name"',
    )
  })

  it('takes one value for a list of one', () => {
    expect(read(oneOrMore(text()), 'a')).toEqual(['a'])
    expect(read(oneOrMore(text()), ['a', 'b'])).toEqual(['a', 'b'])
    expect(complaint(oneOrMore(text()), 5)).toContain('must be text, not a number; put it in quotes')
  })

  it('refuses lists and dates where a map is wanted', () => {
    expect(complaint(model, [])).toContain('not a list')
    expect(complaint(model, new Date(0))).toContain('not a date')
  })

  it('tells editors the same as JSON Schema', () => {
    expect(described(model, 'One model.', {}).schema).toMatchObject({
      type: 'object',
      description: 'One model.',
      additionalProperties: false,
      properties: {
        slots: { type: 'integer', minimum: 1 },
        gpu: { anyOf: [{ type: 'boolean' }, { type: 'string' }] },
      },
    })
  })

  it.each([
    [{ at: 0, name: '' }, true],
    [{ at: 0, kind: 'a', name: 'x' }, true],
    [{ at: 0 }, false],
    [{ at: -1, name: 'x' }, false],
    [{ at: '1', name: 'x' }, false],
    [{ at: 1.5, name: 'x' }, false],
    [{ at: 1, name: 'x', kind: 'c' }, false],
    [{ at: 1, name: 'x', kind: null }, false],
    [{ at: 1, name: 'x', room: '1 GiB' }, false],
    [{ at: 1, name: 'x', toString: 'y' }, false],
    [[], false],
    [null, false],
  ])('takes as it is only what reading leaves as it is: %j', (value, isRight) => {
    const fields = { at: number({ min: 0, whole: true }), name: text(), kind: choice('a', 'b'), room: size() }
    const line = object(fields, { required: ['at', 'name'] })
    expect(line.isRight?.(value)).toBe(isRight)
    expect(isRight ? read(line, value) : value).toEqual(value)
  })

  it('writes places so that they can be found', () => {
    expect(pathText(['models', 'a:b', 'script', 2, 'text'])).toBe('models["a:b"].script[2].text')
  })
})
