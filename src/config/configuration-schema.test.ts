import fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../base/shape.ts'
import { configurationSchema } from './configuration-schema.ts'
import { yardDirectories } from './directories.ts'
import { parseConfiguration } from './parse-configuration.ts'

const directories = yardDirectories({ MODELYARD_HOME: '/yard' }, '/')

function ourVerdict(input: unknown): boolean {
  try {
    parseConfiguration(input, { directories, directory: '/' })
    return true
  } catch {
    return false
  }
}

/** A second opinion: the validator that fastify brings, which knows nothing of our shapes. */
async function validator(schema: JsonSchema): Promise<(input: unknown) => boolean> {
  const customOptions = {
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    strict: false,
  } as const
  const app = fastify({ ajv: { customOptions } })
  let validate: ((input: unknown) => boolean) | undefined
  app.get('/', async (request) => {
    validate = request.compileValidationSchema(schema) as (input: unknown) => boolean
    return {}
  })
  await app.inject('/')
  await app.close()
  if (validate === undefined) throw new Error('no validator')
  return validate
}

const CASES: [boolean, unknown][] = [
  [true, {}],
  [true, { $schema: 'x' }],
  [
    true,
    {
      models: { a: 'hf:x/y', smollm2: { slots: 2, keepAlive: '5m', pinned: 'soft', device: { gpu: true } } },
    },
  ],
  [
    true,
    {
      models: {
        a: { engine: 'scripted', memory: '1GiB', script: [{ match: 'x', text: ['a', { hex: 'F0 9F' }] }] },
      },
    },
  ],
  [true, { models: { a: { engine: 'scripted', script: './x.yaml', memory: { 'gpu:0': 5 } } } }],
  [true, { memory: { budget: '75%', headroom: 0 }, server: { keys: ['abcd'], port: 0 } }],
  [true, { memory: { budget: { ram: '1 GiB', 'gpu:1': '50%' } }, drain: { timeout: '1h30m' } }],
  [false, { model: {} }],
  [false, { models: { a: { slotz: 1 } } }],
  [false, { models: { a: { loadTime: 1 } } }],
  [false, { models: { a: { engine: 'scripted', lodTime: 1 } } }],
  [false, { models: { a: { slots: 0 } } }],
  [false, { models: { a: { slots: 1.5 } } }],
  [false, { models: { 'a b': {} } }],
  [false, { models: { a: { pinned: 'hard' } } }],
  [false, { models: { a: { keepAlive: 'soon' } } }],
  [false, { memory: { budget: '6 elephants' } }],
  [false, { memory: { budget: { vram: 1 } } }],
  [false, { server: { port: 65_536 } }],
  [false, { drain: { timeout: -1 } }],
  [false, { models: { a: { engine: 'scripted', script: [{ text: [5] }] } } }],
]

describe('modelyard.schema.json', () => {
  it('is what the configuration is checked against (write it anew with: npx vitest run src/config -u)', async () => {
    const text = `${JSON.stringify(configurationSchema(), null, 2)}\n`
    await expect(text).toMatchFileSnapshot('../../modelyard.schema.json')
  })

  it('judges files as the program does', async () => {
    const schemaVerdict = await validator(configurationSchema())
    const verdicts = CASES.map(([right, input]) => ({
      input,
      right,
      ours: ourVerdict(input),
      schema: schemaVerdict(input),
    }))
    expect(verdicts.filter(({ right, ours, schema }) => ours !== right || schema !== right)).toEqual([])
  })
})
