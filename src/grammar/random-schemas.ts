import * as fc from 'fast-check'

type Json = Record<string, unknown>

const NAMES = ['a', 'b', 'name', 'na', 'with "quotes"', 'ünï', 'toString', 'long name']
const FORMATS = ['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']
const PATTERNS = [
  '^[a-z]{2,5}$',
  '^\\d{3}-\\d{4}$',
  'abc',
  '^(yes|no)$',
  '^[^"\\\\]+$',
  '^a*b+c?$',
  'x$|^y',
  '^\\w+@\\w+\\.com$',
  '^.{0,3}$',
  '^[\\s\\S]{2}$',
  '^hello there indeed!$',
]

const constant = fc.oneof(
  fc.string({ maxLength: 6, unit: 'binary' }),
  fc.integer({ min: -1000, max: 1000 }),
  fc.boolean(),
  fc.constant(null),
)

const bounds = (values: fc.Arbitrary<number>): fc.Arbitrary<Json> =>
  fc
    .tuple(fc.option(values), fc.option(values), fc.boolean(), fc.boolean())
    .map(([some, other, open, closed]) => {
      const [low, high] = some !== null && other !== null && some > other ? [other, some] : [some, other]
      return {
        ...(low !== null && { [open ? 'exclusiveMinimum' : 'minimum']: low }),
        ...(high !== null && { [closed ? 'exclusiveMaximum' : 'maximum']: high }),
      }
    })

const lengths = (least: string, most: string): fc.Arbitrary<Json> =>
  fc.tuple(fc.option(fc.nat(4)), fc.option(fc.nat(4))).map(([low, more]) => ({
    ...(low !== null && { [least]: low }),
    ...(more !== null && { [most]: (low ?? 0) + more }),
  }))

const hundredths = fc.integer({ min: -100_000, max: 100_000 }).map((value) => value / 100)

const leaf: fc.Arbitrary<unknown> = fc.oneof(
  lengths('minLength', 'maxLength').map((counts) => ({ type: 'string', ...counts })),
  fc.constantFrom(...FORMATS).map((format) => ({ type: 'string', format })),
  fc.constantFrom(...PATTERNS).map((pattern) => ({ type: 'string', pattern })),
  bounds(fc.integer({ min: -2000, max: 2000 })).map((limits) => ({ type: 'integer', ...limits })),
  bounds(fc.oneof(fc.integer({ min: -99, max: 99 }), hundredths)).map((limits) => ({
    type: 'number',
    ...limits,
  })),
  fc.uniqueArray(constant, { minLength: 1, maxLength: 6 }).map((values) => ({ enum: values })),
  constant.map((value) => ({ const: value })),
  fc.constantFrom({ type: 'boolean' }, { type: 'null' }, { type: ['string', 'null'] }, {}, true, {
    type: 'object',
  }),
)

/** Schemas of all kinds that can be held; some have no value that fits, and are refused. */
export const randomSchemas: fc.Arbitrary<Json> = fc
  .letrec<{ schema: unknown; object: Json }>((tie) => ({
    object: fc
      .tuple(
        fc.dictionary(fc.constantFrom(...NAMES), tie('schema'), { maxKeys: 4 }),
        fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 3 }),
        fc.oneof(fc.constant(undefined), fc.boolean(), tie('schema')),
      )
      .map(([properties, required, additionalProperties]) => ({
        type: 'object',
        properties,
        required: required.filter((name) => Object.hasOwn(properties, name)),
        ...(additionalProperties !== undefined && { additionalProperties }),
      })),
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      tie('object'),
      fc
        .tuple(tie('schema'), lengths('minItems', 'maxItems'))
        .map(([items, counts]) => ({ type: 'array', items, ...counts })),
      fc
        .tuple(fc.array(tie('schema'), { minLength: 1, maxLength: 3 }), lengths('minItems', 'maxItems'))
        .map(([prefixItems, counts]) => ({ type: 'array', prefixItems, ...counts })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      fc.tuple(tie('object'), tie('object')).map((allOf) => ({ allOf })),
      fc.constant({ $ref: '#/$defs/shared' }),
      fc.constant({ type: 'array', items: { $ref: '#' } }),
    ),
  }))
  .schema.chain((schema) => leaf.map((shared) => ({ allOf: [schema], $defs: { shared } })))
