import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import { compileSchema, schemaRules } from './compile-schema.ts'
import { parseGrammar } from './parse-grammar.ts'
import { printGrammar } from './print-grammar.ts'
import { randomSchemas } from './random-schemas.ts'
import { RandomText } from './random-text.ts'

const RUNS = Number(process.env['MODELYARD_GRAMMAR_RUNS'] ?? 100)

function seeded(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Undefined for a schema that is refused. */
function grammarOf(schema: unknown): ReturnType<typeof parseGrammar> | undefined {
  try {
    return parseGrammar(printGrammar(compileSchema(schema)))
  } catch (error) {
    if (error instanceof ModelyardError && error.code === 'invalid_request') return undefined
    throw error
  }
}

describe('the grammar of a schema', () => {
  it('allows nothing but texts that parse and fit, whatever the schema (property)', () => {
    let held = 0
    const property = fc.property(randomSchemas, fc.integer(), (schema, seed) => {
      const grammar = grammarOf(schema)
      if (grammar === undefined) return
      held++
      const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, ownProperties: true })
      addFormats.default(ajv)
      const fits = ajv.compile(schema)
      const texts = new RandomText(grammar)
      const random = seeded(seed)
      for (let count = 0; count < 5; count++) {
        const text = texts.next(random)
        expect({ text, fits: fits(JSON.parse(text)), errors: fits.errors }).toEqual({
          text,
          fits: true,
          errors: null,
        })
      }
    })
    fc.assert(property, { numRuns: RUNS })
    expect(held).toBeGreaterThan(RUNS / 2)
  })

  it('can stand in a larger grammar, with names of its own', () => {
    const { root, rules } = schemaRules(
      { type: 'object', properties: { a: { type: 'integer' } } },
      { prefix: 'x-' },
    )
    const names = rules
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ')[0])
    expect(names).toContain(root)
    expect(names.every((name) => name?.startsWith('x-'))).toBe(true)
    const whole = parseGrammar(`root ::= "<call>" ${root} "</call>"\n${rules}`)
    expect(new RandomText(whole).next(() => 0)).toBe('<call>{"a":0}</call>')
  })
})
