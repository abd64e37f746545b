import { fastify } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../src/base/shape.ts'
import { createYard, type Yard } from '../../src/yard.ts'

let yard: Yard | undefined
afterEach(async () => await yard?.stop({ deadline: 0 }))

interface Operation {
  requestBody?: { content: Record<string, { schema: JsonSchema }> }
  responses: Record<string, { content: Record<string, { schema: JsonSchema }> }>
  parameters?: { name: string; in: string }[]
}

interface Document {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: { Error: JsonSchema } }
}

/** Whether a value is as a schema says; the problems otherwise. */
async function validator(): Promise<(schema: JsonSchema, value: unknown) => string> {
  const app = fastify({
    ajv: {
      customOptions: { strict: false, coerceTypes: false, removeAdditional: false, useDefaults: false },
    },
  })
  let compile: ((schema: JsonSchema) => unknown) | undefined
  app.get('/', async (request) => {
    compile = (schema) => request.compileValidationSchema(schema)
    return {}
  })
  await app.inject('/')
  return (schema, value) => {
    const check = compile?.(schema) as ((input: unknown) => boolean) & { errors?: unknown }
    return check(value) ? '' : JSON.stringify(check.errors)
  }
}

async function open(): Promise<string> {
  yard = await createYard({
    home: false,
    models: { talker: { engine: 'scripted', memory: '10MiB', script: [{ text: 'Hello' }] } },
  })
  return (await yard.listen({ port: 0 })).url
}

async function json(
  url: string,
  method = 'GET',
  body?: unknown,
): Promise<{ status: number; value: unknown }> {
  const response = await fetch(url, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  return { status: response.status, value: await response.json() }
}

it('H4: the OpenAPI document has every control route, and real answers are what it says', async () => {
  const url = await open()
  const { components, openapi, paths } = (await json(`${url}/api/yard/openapi.json`)).value as Document
  const problemsOf = await validator()
  expect(openapi).toBe('3.1.0')
  const answered = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'talker', messages: [{ role: 'user', content: 'hi' }] }),
  })
  const run = answered.headers.get('modelyard-run') ?? ''
  const asked: [method: string, path: string, name?: string | undefined, body?: object][] = [
    ['get', '/healthz'],
    ['get', '/readyz'],
    ['get', '/api/yard/openapi.json'],
    ['get', '/api/yard/state'],
    ['get', '/api/yard/telemetry'],
    ['get', '/api/yard/plan/{name}', 'talker'],
    ['get', '/api/yard/models/{name}', 'talker'],
    ['post', '/api/yard/models/refresh'],
    ['post', '/api/yard/load', undefined, { model: 'talker', keep_alive: '5m', force: true, context: 512 }],
    ['post', '/api/yard/pin', undefined, { model: 'talker', pinned: 'soft' }],
    ['get', '/api/yard/settings'],
    ['patch', '/api/yard/settings', undefined, { keepAlive: '1h', 'models.talker.pinned': null }],
    ['get', '/api/yard/contexts'],
    ['post', '/api/yard/contexts/remove', undefined, { model: 'talker' }],
    ['post', '/api/yard/warm', undefined, { model: 'talker', prompt: 'Once upon a time' }],
    ['get', '/api/yard/runs'],
    ['get', '/api/yard/runs/{name}', run],
    ['get', '/api/yard/why/{name}', run],
    ['get', '/api/yard/why/{name}', 'talker'],
    ['post', '/api/yard/unload', undefined, { model: 'talker' }],
  ]
  for (const [method, path, name = '', body] of asked) {
    const operation = paths[path]?.[method]
    const { status, value } = await json(url + path.replace('{name}', name), method.toUpperCase(), body)
    const schema = operation?.responses['200']?.content['application/json']?.schema
    const bodySchema = operation?.requestBody?.content['application/json']?.schema
    expect([method, path, status, schema === undefined]).toEqual([method, path, 200, false])
    expect([path, problemsOf(schema ?? {}, value)]).toEqual([path, ''])
    expect([path, bodySchema === undefined ? '' : problemsOf(bodySchema, body)]).toEqual([path, ''])
  }
  // test/transformers has answers of those that want a model of their own kind.
  const others = [
    'get /metrics',
    'get /api/yard/events',
    'get /api/yard/logs',
    'post /api/yard/classify',
    'post /api/yard/detect',
    'post /api/yard/caption',
  ]
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  expect(new Set(described)).toEqual(
    new Set([...asked.map(([method, path]) => `${method} ${path}`), ...others]),
  )
  const failed = await json(`${url}/api/yard/runs?limit=x`)
  expect([failed.status, problemsOf(components.schemas.Error, failed.value)]).toEqual([400, ''])
})

it('an instance can be unloaded by its own name', async () => {
  const url = await open()
  await yard?.loadModel('talker')
  expect((await json(`${url}/api/yard/unload`, 'POST', { model: 'talker#1', force: true })).status).toBe(200)
  expect(yard?.state().instances).toEqual([])
  expect((await json(`${url}/api/yard/unload`, 'POST', { model: 'talker#1' })).status).toBe(404)
  expect((await json(`${url}/api/yard/load`, 'POST', { model: 'talker', force: 'yes' })).status).toBe(400)
})

describe('H4: the server takes what the document says and nothing else', () => {
  async function operations(url: string): Promise<{ method: string; path: string; operation: Operation }[]> {
    const { paths } = (await json(`${url}/api/yard/openapi.json`)).value as Document
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    )
  }

  const bodyFields = ({ requestBody }: Operation): Record<string, unknown> =>
    (requestBody?.content['application/json']?.schema as { properties?: Record<string, unknown> } | undefined)
      ?.properties ?? {}

  it('every field of a body that is described is looked at, and one that is not is refused by its name', async () => {
    const url = await open()
    const withBody = (await operations(url)).filter(({ operation }) => operation.requestBody !== undefined)
    expect(withBody.map(({ path }) => path).toSorted()).toEqual([
      '/api/yard/caption',
      '/api/yard/classify',
      '/api/yard/contexts/remove',
      '/api/yard/detect',
      '/api/yard/load',
      '/api/yard/pin',
      '/api/yard/settings',
      '/api/yard/unload',
      '/api/yard/warm',
    ])
    for (const { method, path, operation } of withBody) {
      const names = [...Object.keys(bodyFields(operation)), 'nonsense']
      for (const name of names) {
        const { status, value } = await json(url + path, method, { model: 'talker', [name]: { not: 'this' } })
        const { error } = value as { error?: { code: string; details: { param?: string } } }
        expect([path, name, status, error?.code]).toEqual([path, name, 400, 'invalid_request'])
        // Any field of the settings' body is a key; the first that is none is named.
        const named = path === '/api/yard/settings' ? 'model' : name
        expect([path, error?.details.param]).toEqual([path, named])
      }
    }
    expect(yard?.state().instances).toEqual([])
  })

  it('every field of a query that is described is taken, and one that is not is refused by its name', async () => {
    const url = await open()
    const withQuery = (await operations(url)).filter(({ operation }) =>
      (operation.parameters ?? []).some((parameter) => parameter.in === 'query'),
    )
    const paths = withQuery.map(({ path }) => path.replace('/api/yard/', ''))
    expect(paths.toSorted()).toEqual(['logs', 'runs', 'telemetry'])
    for (const { path, operation } of withQuery) {
      const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
      for (const name of [...query.map((parameter) => parameter.name), 'nonsense']) {
        const response = await fetch(`${url}${path}?${name}=1`)
        const { error } = (await response.json()) as { error?: { details: { param?: string } } }
        const isRefused = error?.details.param === name
        expect([path, name, isRefused]).toEqual([path, name, name === 'nonsense'])
      }
    }
  })

  it.each([[{ ids: ['context-404'] }], [{ model: 'nobody' }]])(
    'to remove the contexts of %j is a 404, not a 0 that looks done',
    async (body) => {
      const url = await open()
      expect((await json(`${url}/api/yard/contexts/remove`, 'POST', body)).status).toBe(404)
    },
  )

  it('a list of contexts that is none stands for nothing, above all not for all there are', async () => {
    const url = await open()
    const answer = await json(`${url}/api/yard/contexts/remove`, 'POST', { ids: 'context-1' })
    expect(answer).toMatchObject({ status: 400, value: { error: { details: { param: 'ids' } } } })
  })
})
