import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHAT, startTestServer, type TestServer } from './test-server.ts'

const CHATS = '/v1/chat/completions'
const TEXTS = '/v1/completions'
const VECTORS = '/v1/embeddings'

interface Row {
  what: string
  path?: string
  body: unknown
  status: number
  param?: string | null
  code?: string
  headers?: Record<string, string>
}

function chat(what: string, fields: Record<string, unknown>, status: number, param?: string): Row {
  return { what, body: { ...CHAT, ...fields }, status, ...(param === undefined ? {} : { param }) }
}

function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`
}

const user = (content: unknown): unknown[] => [{ role: 'user', content }]

const ROWS: Row[] = [
  // bodies that are no JSON object
  { what: 'an empty body', body: '', status: 400 },
  { what: 'half an object', body: '{"model":', status: 400 },
  { what: 'words', body: 'hello', status: 400 },
  { what: 'single quotes', body: "{'model':'model-a'}", status: 400 },
  { what: 'a trailing comma', body: '{"model":"model-a",}', status: 400 },
  { what: 'NaN', body: '{"model":"model-a","temperature":NaN}', status: 400 },
  { what: 'two objects', body: '{}{}', status: 400 },
  { what: 'a string', body: '"model-a"', status: 400, param: 'body' },
  { what: 'an array', body: '[]', status: 400, param: 'body' },
  { what: 'null', body: 'null', status: 400, param: 'body' },
  { what: 'a number', body: '5', status: 400, param: 'body' },
  {
    what: 'bytes that are no UTF-8',
    body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    status: 400,
  },
  { what: 'half a UTF-8 character', body: Buffer.from('{"model":"\u00e9"}').subarray(0, 11), status: 400 },
  { what: 'UTF-16', body: Buffer.from(JSON.stringify(CHAT), 'utf16le'), status: 400 },
  { what: 'a null byte', body: '\0', status: 400 },
  { what: 'nesting 129 deep', body: `{"model":"model-a","x":${nested(129)}}`, status: 400 },
  { what: 'nesting 100,000 deep', body: nested(100_000), status: 400 },
  {
    what: 'a form',
    body: 'model=model-a',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    status: 415,
  },
  { what: 'plain text', body: JSON.stringify(CHAT), headers: { 'content-type': 'text/plain' }, status: 415 },
  { what: 'a broken content type', body: '{}', headers: { 'content-type': ';;' }, status: 415 },
  {
    what: 'a compressed body',
    body: Buffer.from([31, 139, 8]),
    headers: { 'content-encoding': 'gzip' },
    status: 415,
  },
  // models
  { what: 'no model', body: { messages: CHAT.messages }, status: 400, param: 'model' },
  { what: 'an empty model', body: { ...CHAT, model: '' }, status: 400, param: 'model' },
  { what: 'a number as model', body: { ...CHAT, model: 5 }, status: 400, param: 'model' },
  { what: 'null as model', body: { ...CHAT, model: null }, status: 400, param: 'model' },
  { what: 'an unknown model', body: { ...CHAT, model: 'model-b' }, status: 404, code: 'model_not_found' },
  {
    what: 'a model name of a megabyte',
    body: { ...CHAT, model: 'x'.repeat(1_000_000) },
    status: 400,
    param: 'model',
  },
  {
    what: 'an unknown model with empty messages',
    body: { model: 'nope', messages: [] },
    status: 400,
    param: 'messages',
  },
  // messages
  { what: 'no messages', body: { model: 'model-a' }, status: 400, param: 'messages' },
  chat('empty messages', { messages: [] }, 400, 'messages'),
  chat('messages as a string', { messages: 'Hi' }, 400, 'messages'),
  chat('a message that is a string', { messages: ['Hi'] }, 400, 'messages[0]'),
  chat('a message without role', { messages: [{ content: 'x' }] }, 400, 'messages[0].role'),
  chat('an invented role', { messages: [{ role: 'banana', content: 'x' }] }, 400, 'messages[0].role'),
  chat('null content of a user', { messages: user(null) }, 400, 'messages[0].content'),
  chat('a number as content', { messages: user(5) }, 400, 'messages[0].content'),
  chat('an unknown kind of part', { messages: user([{ type: 'x' }]) }, 400, 'messages[0].content[0].type'),
  chat('audio', { messages: user([{ type: 'input_audio' }]) }, 501, 'messages[0].content[0]'),
  chat(
    'a remote image',
    { messages: user([{ type: 'image_url', image_url: { url: 'http://x/a.png' } }]) },
    400,
    'messages[0].content[0].image_url.url',
  ),
  chat(
    'a tool result without id',
    { messages: [{ role: 'tool', content: 'x' }] },
    400,
    'messages[0].tool_call_id',
  ),
  // fields of a wrong type or value
  chat('temperature as a string', { temperature: '0.5' }, 400, 'temperature'),
  chat('temperature above 2', { temperature: 2.5 }, 400, 'temperature'),
  chat('temperature below 0', { temperature: -1 }, 400, 'temperature'),
  {
    what: 'a temperature of 1e999',
    body: JSON.stringify(CHAT).replace('{', '{"temperature":1e999,'),
    status: 400,
    param: 'temperature',
  },
  chat('top_p above 1', { top_p: 1.5 }, 400, 'top_p'),
  chat('top_p as an array', { top_p: [1] }, 400, 'top_p'),
  chat('max_tokens −1', { max_tokens: -1 }, 400, 'max_tokens'),
  chat('max_tokens "5"', { max_tokens: '5' }, 400, 'max_tokens'),
  chat('max_completion_tokens 1.5', { max_completion_tokens: 1.5 }, 400, 'max_completion_tokens'),
  chat('max_completion_tokens 1e300', { max_completion_tokens: 1e300 }, 400, 'max_completion_tokens'),
  chat('presence_penalty 3', { presence_penalty: 3 }, 400, 'presence_penalty'),
  chat('frequency_penalty true', { frequency_penalty: true }, 400, 'frequency_penalty'),
  chat('seed "x"', { seed: 'x' }, 400, 'seed'),
  chat('five stop strings', { stop: ['a', 'b', 'c', 'd', 'e'] }, 400, 'stop'),
  chat('an empty stop string', { stop: '' }, 400, 'stop'),
  chat('a number among the stop strings', { stop: ['a', 1] }, 400, 'stop[1]'),
  chat('a logit bias as an array', { logit_bias: [1] }, 400, 'logit_bias'),
  chat('a logit bias of 1000', { logit_bias: { 5: 1000 } }, 400, 'logit_bias.5'),
  chat('stream "true"', { stream: 'true' }, 400, 'stream'),
  chat('stream_options without stream', { stream_options: { include_usage: true } }, 400, 'stream_options'),
  chat(
    'include_usage 1',
    { stream: true, stream_options: { include_usage: 1 } },
    400,
    'stream_options.include_usage',
  ),
  chat('top_logprobs without logprobs', { top_logprobs: 3 }, 400, 'top_logprobs'),
  chat('an unknown response format', { response_format: { type: 'sound' } }, 400, 'response_format.type'),
  chat(
    'a schema that is a number',
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: 123 } } },
    400,
    'response_format.json_schema.schema',
  ),
  chat('tools as an object', { tools: {} }, 400, 'tools'),
  chat(
    'a tool without a name',
    { tools: [{ type: 'function', function: {} }] },
    400,
    'tools[0].function.name',
  ),
  chat('a forced tool without tools', { tool_choice: 'required' }, 400, 'tool_choice'),
  chat('keep_alive "abc"', { keep_alive: 'abc' }, 400, 'keep_alive'),
  chat('an unknown priority', { priority: 'urgent' }, 400, 'priority'),
  chat('metadata as a string', { metadata: 'x' }, 400, 'metadata'),
  {
    ...chat('a broken keep-alive header', {}, 400, 'keep_alive'),
    headers: { 'modelyard-keep-alive': 'soon' },
  },
  // documented and not supported
  chat('no choice', { n: 0 }, 400, 'n'),
  chat('nine choices', { n: 9 }, 400, 'n'),
  chat('half a choice', { n: 1.5 }, 400, 'n'),
  chat('store', { store: true }, 501, 'store'),
  chat('audio answers', { modalities: ['text', 'audio'] }, 501, 'modalities'),
  chat('web search', { web_search_options: {} }, 501, 'web_search_options'),
  chat('functions', { functions: [{ name: 'a' }] }, 501, 'functions'),
  // completions and embeddings
  {
    what: 'completions without prompt',
    path: TEXTS,
    body: { model: 'model-a' },
    status: 400,
    param: 'prompt',
  },
  {
    what: 'a prompt of mixed tokens',
    path: TEXTS,
    body: { model: 'model-a', prompt: [1, 'a'] },
    status: 400,
    param: 'prompt[1]',
  },
  {
    what: 'best_of 3',
    path: TEXTS,
    body: { model: 'model-a', prompt: 'x', best_of: 3 },
    status: 501,
    param: 'best_of',
  },
  {
    what: 'logprobs 9',
    path: TEXTS,
    body: { model: 'model-a', prompt: 'x', logprobs: 9 },
    status: 400,
    param: 'logprobs',
  },
  { what: 'BR-33: no input', path: VECTORS, body: { model: 'model-a' }, status: 400, param: 'input' },
  {
    what: 'BR-33: an empty input',
    path: VECTORS,
    body: { model: 'model-a', input: '' },
    status: 400,
    param: 'input',
  },
  {
    what: 'BR-33: mixed inputs',
    path: VECTORS,
    body: { model: 'model-a', input: ['a', 5] },
    status: 400,
    param: 'input[1]',
  },
  {
    what: 'BR-33: a negative token',
    path: VECTORS,
    body: { model: 'model-a', input: [1, -1] },
    status: 400,
    param: 'input[1]',
  },
  {
    what: 'BR-32: encoding_format "hex"',
    path: VECTORS,
    body: { model: 'model-a', input: 'a', encoding_format: 'hex' },
    status: 400,
    param: 'encoding_format',
  },
  {
    what: 'BR-32: dimensions 0',
    path: VECTORS,
    body: { model: 'model-a', input: 'a', dimensions: 0 },
    status: 400,
    param: 'dimensions',
  },
]

/** Values that look odd and must work. */
const GOOD: [what: string, fields: Record<string, unknown>][] = [
  [
    'temperature 0, seed 0, penalties 0',
    { temperature: 0, seed: 0, presence_penalty: 0, frequency_penalty: 0 },
  ],
  ['top_p 0', { top_p: 0 }],
  ['max_tokens 0', { max_tokens: 0 }],
  ['BR-06: max_completion_tokens 10^9', { max_completion_tokens: 1e9 }],
  ['an empty user message', { messages: user('') }],
  ['content as an empty array', { messages: user([]) }],
  [
    'null for all that is optional',
    { temperature: null, stop: null, tools: null, n: null, stream_options: null, user: null },
  ],
  ['an empty stop array', { stop: [] }],
  ['empty tools', { tools: [], tool_choice: 'none' }],
  ['n 1', { n: 1 }],
  ['logprobs false', { logprobs: false }],
  ['fields nobody knows', { unheard_of: { deep: [1] }, __proto__: 5 }],
  ['a nesting of 100', { chat_template_kwargs: { x: JSON.parse(nested(100)) as unknown } }],
  ['a lone surrogate', { messages: user('\ud83d') }],
  ['a null character', { messages: user('a\0b') }],
]

describe('bad input', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer()
  })
  afterAll(() => server.close())

  async function alive(): Promise<void> {
    expect((await server.post(CHATS, CHAT)).status).toBe(200)
  }

  it('has at least sixty rows', () => {
    expect(ROWS.length).toBeGreaterThanOrEqual(60)
  })

  it.each(ROWS.map((row) => [row.what, row] as const))('%s', async (_what, row) => {
    const { path = CHATS, body, headers = {}, status, param = null, code } = row
    const before = server.yard.requests.length
    const response = await server.post(path, body, headers)
    const answer = (await response.json()) as { error: Record<string, unknown> }
    expect([response.status, answer.error['param']]).toEqual([status, param])
    expect(Object.keys(answer)).toEqual(['error'])
    expect(Object.keys(answer.error)).toEqual(['message', 'type', 'param', 'code'])
    expect(answer.error['message']).toMatch(/\w.*[.…]$/)
    expect(answer.error['code']).toMatch(code ?? /^[a-z_]+$/)
    expect(response.headers.get('x-request-id')).toMatch(/^req_[\da-f]{24}$/)
    expect(server.yard.requests.length).toBe(before)
    await alive()
  })

  it.each(GOOD)('%s must work', async (_what, fields) => {
    expect((await server.post(CHATS, { ...CHAT, ...fields })).status).toBe(200)
  })

  it('takes a byte order mark', async () => {
    expect((await server.post(CHATS, `\uFEFF${JSON.stringify(CHAT)}`)).status).toBe(200)
  })

  it.each(['application/json; charset=utf-8', 'application/vnd.api+json', 'Application/JSON'])(
    'takes content type %s',
    async (type) => {
      expect((await server.post(CHATS, CHAT, { 'content-type': type })).status).toBe(200)
    },
  )

  it('never repeats the client’s text in an error', async () => {
    const secret = 'my-secret-text'
    const bodies = [
      `{"model":"model-a","messages":[{"role":"user","content":"${secret}" oops}]}`,
      secret,
      { ...CHAT, messages: [{ role: secret, content: 'x' }] },
      { ...CHAT, response_format: { type: secret } },
      { ...CHAT, stop: [secret, 5] },
      { ...CHAT, keep_alive: secret },
    ]
    for (const body of bodies) expect(await (await server.post(CHATS, body)).text()).not.toContain(secret)
  })
})
