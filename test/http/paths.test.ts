import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHAT, RawClient, startTestServer, type TestServer } from './test-server.ts'

const NAMED = 'hf.co/org/name:Q4_K_M'

describe('BR-12: paths', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({
      models: [{}, { id: NAMED, aliases: [] }, { id: 'ümlaut 模型', aliases: [] }],
    })
  })
  afterAll(() => server.close())

  async function get(
    path: string,
    method = 'GET',
  ): Promise<{ status: number; text: string; headers: Headers }> {
    const response = await fetch(server.url + path, { method })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }

  it.each([
    '/v1/models',
    '/v1//models',
    '//v1/models',
    '/v1/models/',
    '/v1/models?limit=5',
    '/openai/v1/models',
    '/openai//v1/models/',
  ])('GET %s lists the models', async (path) => {
    const { status, text } = await get(path)
    expect([status, (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id)]).toEqual([
      200,
      ['model-a', NAMED, 'ümlaut 模型'],
    ])
  })

  it.each([
    [`/v1/models/${NAMED}`, NAMED],
    [`/v1/models/${encodeURIComponent(NAMED)}`, NAMED],
    [`/openai/v1/models/${NAMED}/`, NAMED],
    ['/v1/models/model-a', 'model-a'],
    ['/v1/models/alias-a', 'model-a'],
    [`/v1/models/${encodeURIComponent('ümlaut 模型')}`, 'ümlaut 模型'],
  ])('GET %s finds the model', async (path, id) => {
    const { status, text } = await get(path)
    expect([status, JSON.parse(text)]).toEqual([
      200,
      expect.objectContaining({
        id,
        object: 'model',
        owned_by: 'modelyard',
        context_length: 4096,
        created: 1_700_000_000,
      }),
    ])
  })

  it('every listed name works in a request, and the answer names what was asked for (BR-37)', async () => {
    for (const model of ['model-a', 'alias-a', NAMED, 'ümlaut 模型']) {
      const response = await server.post('/v1/chat/completions', { ...CHAT, model })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ model })
    }
  })

  it('a POST with doubled and trailing slashes keeps its body', async () => {
    expect((await server.post('//v1//chat/completions/', CHAT)).status).toBe(200)
  })

  it('an unknown model is a 404 that names the nearest', async () => {
    const { status, text } = await get('/v1/models/model-b')
    expect([status, JSON.parse(text)]).toEqual([
      404,
      {
        error: expect.objectContaining({ code: 'model_not_found', type: 'invalid_request_error' }) as unknown,
      },
    ])
  })

  it.each(['/models', '/chat/completions', '/completions', '/embeddings'])(
    '%s says that /v1 was forgotten',
    async (path) => {
      const { status, text, headers } = await get(path, 'POST')
      expect([status, headers.get('content-type')]).toEqual([404, 'application/json'])
      expect((JSON.parse(text) as { error: { message: string } }).error.message).toContain('/v1')
    },
  )

  it.each(['/v1/nope', '/openai/v1/nope', '/nope', '/v1', '/v1/chat', '/favicon.ico'])(
    '%s is a 404 in OpenAI’s shape',
    async (path) => {
      const { status, text } = await get(path)
      expect([status, JSON.parse(text)]).toEqual([
        404,
        {
          error: {
            message: expect.any(String) as string,
            type: 'invalid_request_error',
            param: null,
            code: 'not_found',
          },
        },
      ])
    },
  )

  it('an unknown control path is a 404 in the control API’s shape', async () => {
    expect(JSON.parse((await get('/api/yard/nope')).text)).toMatchObject({
      error: { code: 'not_found', details: {} },
    })
  })

  it.each([
    ['GET', '/v1/chat/completions', 'POST, OPTIONS'],
    ['HEAD', '/v1/chat/completions', 'POST, OPTIONS'],
    ['DELETE', '/v1/models', 'GET, HEAD, OPTIONS'],
    ['POST', '/v1/models/model-a', 'GET, DELETE, HEAD, OPTIONS'],
    ['PUT', '/api/yard/state', 'GET, HEAD, OPTIONS'],
    ['PROPFIND', '/v1/models', 'GET, HEAD, OPTIONS'],
  ])('%s %s is a 405 that allows %s', async (method, path, allow) => {
    const { status, headers } = await get(path, method)
    expect([status, headers.get('allow')]).toEqual([405, allow])
  })

  it.each([
    ['POST', '/v1/responses/resp_1/cancel', 'no background responses'],
    ['POST', '/v1/responses/input_tokens', 'count_tokens'],
    ['GET', '/v1/files', 'keeps no files'],
    ['DELETE', '/openai/v1/files/file-1', 'keeps no files'],
    ['POST', '/v1/batches/batch_1/cancel', 'priority "background"'],
    ['GET', '/v1/chat/completions/chatcmpl-1', 'keeps no chat completions'],
    ['DELETE', '/v1/models/model-a', 'modelyard remove'],
    ['GET', '/v1/fine_tuning/jobs', 'trains no models'],
  ])(
    '%s %s is documented and not here: a 501 with the reason, not a 405 or a 404',
    async (method, path, why) => {
      const { status, text } = await get(path, method)
      expect([status, JSON.parse(text)]).toEqual([
        501,
        {
          error: {
            message: expect.stringContaining(why) as string,
            type: 'server_error',
            param: 'path',
            code: 'unsupported',
          },
        },
      ])
    },
  )

  it.each(['/v1/models', `/v1/models/${NAMED}`, '/healthz', '/v1/nope'])(
    'HEAD %s equals GET without a body',
    async (path) => {
      const [head, whole] = [await get(path, 'HEAD'), await get(path)]
      expect([head.status, head.text]).toEqual([whole.status, ''])
      const same = ['content-type', 'content-length']
      expect(same.map((name) => head.headers.get(name))).toEqual(same.map((name) => whole.headers.get(name)))
    },
  )

  it('a broken percent sign is a 400', async () => {
    const client = new RawClient(server.port)
    client.send('GET /v1/models/%E0%A4%A HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    expect(await client.until((text) => text.includes('}}'))).toMatch(/^HTTP\/1.1 400 .*"invalid_request"/s)
    client.socket.destroy()
  })

  it('OPTIONS without an origin says what there is', async () => {
    const response = await fetch(`${server.url}/v1/models`, { method: 'OPTIONS' })
    expect([response.status, response.headers.get('allow')]).toEqual([
      204,
      'GET, HEAD, POST, PATCH, DELETE, OPTIONS',
    ])
  })
})
