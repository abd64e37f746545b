import { describe, expect, it } from 'vitest'
import { compileSchema } from './compile-schema.ts'
import { GrammarMachine } from './grammar-machine.ts'
import { GrammarWalk } from './grammar-walk.ts'

const inProperty = (schema: unknown): object => ({ type: 'object', properties: { 'a/b': schema } })

function accepts(schema: unknown, value: string, strict = true): boolean {
  const walk = new GrammarWalk(new GrammarMachine(compileSchema(schema, { strict })))
  return Array.from(value).every((character) => walk.step(character.codePointAt(0) ?? 0)) && walk.mayEnd
}

describe('a schema that cannot be held', () => {
  it.each([
    ['not', { not: { type: 'string' } }],
    ['if', { if: {} }],
    ['multipleOf', { type: 'number', multipleOf: 0.1 }],
    ['uniqueItems', { type: 'array', uniqueItems: true }],
    ['contains', { type: 'array', contains: { type: 'string' } }],
    ['patternProperties', { type: 'object', patternProperties: { '^a': true } }],
    ['propertyNames', { type: 'object', propertyNames: { maxLength: 3 } }],
    ['dependentRequired', { type: 'object', dependentRequired: { a: ['b'] } }],
    ['minProperties', { type: 'object', minProperties: 3 }],
    ['pattern', { type: 'string', pattern: '^(?=a)' }],
    ['pattern', { type: 'string', pattern: '(a)\\1' }],
    ['pattern', { type: 'string', pattern: '\\bword\\b' }],
    ['pattern', { type: 'string', pattern: '^[a-' }],
    ['minLength', { type: 'string', pattern: '^[a-z]+-[a-z]+$', minLength: 7 }],
    ['$ref', { $ref: 'https://example.com/schema.json' }],
    ['$ref', { $ref: '#/$defs/nowhere' }],
    ['type', { type: 'text' }],
    ['type', { type: ['string', 5] }],
    ['maxLength', { type: 'string', maxLength: 'five' }],
    ['maxLength', { type: 'string', maxLength: -1 }],
    ['required', { type: 'object', required: 'a' }],
    ['anyOf', { anyOf: [] }],
    ['oneOf', { oneOf: [{ type: 'string' }, { type: 'string', maxLength: 5 }] }],
    ['format', { type: 'string', format: 'rainbow' }],
    ['minimun', { type: 'integer', minimun: 5 }],
  ])('names the keyword by its path: %s', (keyword, schema) => {
    expect(() => compileSchema(inProperty(schema))).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: expect.objectContaining({ keyword: `#/properties/a~1b/${keyword}` }) as object,
      }) as Error,
    )
  })

  it('when not strict, unknown formats and keywords are passed over and oneOf is held as anyOf is; nothing else', () => {
    const relaxed = {
      type: 'object',
      properties: {
        a: { type: 'string', format: 'rainbow', minimun: 5 },
        b: { oneOf: [{ type: 'string' }, { maxLength: 2 }] },
      },
      required: ['a'],
    }
    expect(accepts(relaxed, '{"a":"x","b":"long text"}', false)).toBe(true)
    expect(() => compileSchema(inProperty({ type: 'array', uniqueItems: true }), { strict: false })).toThrow(
      'uniqueItems',
    )
  })

  it.each([
    ['false', false],
    ['types that nothing has together', { allOf: [{ type: 'string' }, { type: 'number' }] }],
    ['a required property that cannot be', { type: 'object', properties: { a: false }, required: ['a'] }],
    ['a recursion without a way out', { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }],
    ['a reference to itself', { $ref: '#' }],
    ['an enumeration of other types', { type: 'string', enum: [1, 2] }],
    ['more than the most', { type: 'array', minItems: 3, maxItems: 2 }],
    ['123', 123],
    ['null', null],
  ])('%s is refused, not answered with anything', (_, schema) => {
    expect(() => compileSchema(schema)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error)
  })
})

describe('a hostile schema is refused at the door', () => {
  const nested = (depth: number): unknown => {
    let schema: unknown = { type: 'string' }
    for (let level = 0; level < depth; level++) schema = { type: 'array', items: schema }
    return schema
  }
  const doubling = {
    $defs: Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `d${index}`,
        {
          allOf: [
            { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { type: 'null' }] },
            { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, true] },
          ],
        },
      ]),
    ),
    $ref: '#/$defs/d0',
  }

  it.each([
    ['nested 100,000 deep', nested(100_000)],
    ['of 10 MB', { type: 'string', description: 'a'.repeat(10_000_000) }],
    [
      'with 100,000 properties',
      { properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`p${index}`, true])) },
    ],
    ['that unfolds without end', doubling],
    ['with patterns in patterns', { type: 'string', pattern: '^((((a{99}){99}){99}){99})$' }],
    [
      'whose alternatives cannot be told apart',
      {
        anyOf: ['y', 'z'].map((end) => ({
          type: 'array',
          prefixItems: [{ $ref: '#' }, { const: end }],
          minItems: 1,
        })),
      },
    ],
  ])('%s', (_, schema) => {
    expect(() => compileSchema(schema)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error)
  })

  const many = <Item>(count: number, item: (index: number) => Item): Item[] =>
    Array.from({ length: count }, (_, index) => item(index))
  const twice = (name: string): object => ({ allOf: [{ $ref: name }, { $ref: name }] })

  it.each([
    [
      'an enumeration with thousands of alternatives that took minutes, each value compared with each',
      { enum: many(9000, (index) => `v${index}`), anyOf: many(4000, (index) => ({ const: index })) },
    ],
    [
      'an enumeration of which no alternative leaves a value',
      { enum: many(9000, (index) => `v${index}`), anyOf: many(4000, (index) => ({ minLength: 10 + index })) },
    ],
    [
      'references that are read 2^30 times',
      {
        $ref: '#/$defs/d0',
        $defs: {
          ...Object.fromEntries(many(30, (index) => [`d${index}`, twice(`#/$defs/d${index + 1}`)])),
          d30: { type: 'string' },
        },
      },
    ],
    [
      'alternatives that each take apart thousands of properties',
      {
        properties: Object.fromEntries(many(3000, (index) => [`p${index}`, true])),
        anyOf: many(3000, () => ({ type: 'string', minProperties: 5000 })),
      },
    ],
  ])('%s is stopped by counted steps', (_, schema) => {
    expect(() => compileSchema(schema)).toThrow('steps to unfold')
  })

  it('an enumeration of 15,000 values is none of these: it is held', () => {
    const schema = { enum: many(15_000, (index) => `value-${index}`) }
    expect(accepts(schema, '"value-14999"')).toBe(true)
    expect(accepts(schema, '"value-15000"')).toBe(false)
  })
})

describe('what the usual makers of schemas send', () => {
  it('closed objects keep the order of the schema, and optional members may be left out', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'null' }, c: true },
      required: ['b'],
    }
    expect(accepts(schema, '{"b":null}')).toBe(true)
    expect(accepts(schema, '{ "a": 1, "b": null }')).toBe(true)
    expect(accepts(schema, '{"b":null,"c":[{}]}')).toBe(true)
    for (const text of [
      '{}',
      '{"a":1}',
      '{"b":null,"a":1}',
      '{"b":null,"d":1}',
      '{"b":null,}',
      '{"b":null} ',
    ]) {
      expect([text, accepts(schema, text)]).toEqual([text, false])
    }
  })

  it('pydantic: optional fields, defaults, references, unions told apart by a constant', () => {
    const pet = (kind: string): object => ({
      type: 'object',
      properties: { kind: { const: kind, default: kind, title: 'Kind', type: 'string' } },
      required: ['kind'],
      title: kind,
    })
    const schema = {
      $defs: { Cat: pet('cat'), Dog: pet('dog') },
      properties: {
        pet: {
          discriminator: { propertyName: 'kind' },
          oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }],
        },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
      },
      required: ['pet'],
      title: 'Home',
      type: 'object',
    }
    expect(accepts(schema, '{"pet":{"kind":"dog"},"note":null}')).toBe(true)
    expect(accepts(schema, '{"pet":{"kind":"cow"}}')).toBe(false)
  })

  it('BR-08: a pattern and a recursion that others leave unenforced are held', () => {
    const pattern = { type: 'string', pattern: '^hello there indeed\\!$' }
    expect(accepts(pattern, '"hello there indeed!"')).toBe(true)
    expect(accepts(pattern, '"hello there"')).toBe(false)
    const tree = {
      $defs: {
        node: {
          type: 'object',
          properties: { kids: { type: 'array', items: { $ref: '#/$defs/node' } } },
          required: ['kids'],
        },
      },
      $ref: '#/$defs/node',
    }
    expect(accepts(tree, '{"kids":[{"kids":[]},{"kids":[]}]}')).toBe(true)
    expect(accepts(tree, '{"kids":[{}]}')).toBe(false)
  })

  it('a key that is written with escapes cannot be smuggled past the type of its property', () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'integer' } },
      additionalProperties: { type: 'string' },
    }
    expect(accepts(schema, '{"other":"text"}')).toBe(true)
    expect(accepts(schema, '{"name":"text"}')).toBe(false)
    expect(accepts(schema, '{"\\u006eame":"text"}')).toBe(false)
  })
})
