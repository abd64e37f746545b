import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ollama, type ChatResponse, type ProgressResponse } from 'ollama'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Listening, type Yard } from '../../src/yard.ts'
import type { YardOptions } from '../../src/yard-options.ts'
import { HubServer } from '../downloads/hub-server.ts'
import { removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'

const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string', description: 'Its name' } } },
    },
  },
]

/** The official SDK against a real yard: what it sends must be understood, what it reads must be there. */
describe('H3: the official Ollama SDK', () => {
  let home: string
  let hub: HubServer
  let yard: Yard
  let server: Listening
  let client: Ollama

  function options(): YardOptions {
    return {
      home: join(home, 'yard'),
      models: {
        talker: {
          engine: 'scripted',
          isolation: 'none',
          context: 4096,
          aliases: ['org/talker:Q4'],
          memory: '3MiB',
          script: [
            {
              match: '^weather',
              after: 'user',
              text: 'Let me look.',
              toolCalls: [
                { name: 'get_weather', arguments: ['{"city"', ':"Par', 'is"}'] },
                { name: 'get_weather', arguments: ['{"city"', ':"Ro', 'me"}'] },
              ],
            },
            { after: 'tool', text: 'It is mild in both.' },
            { match: '^think', reasoning: ['Let me', ' see.'], text: '{"done":true}' },
            { match: '^odds', text: ['He', 'llo'], logprobs: [-0.25, -0.5] },
            {
              match: '^emoji',
              text: [{ hex: '20 F0 9F' }, { hex: '98 B8' }, { hex: 'E4 BD' }, { hex: 'A0' }],
            },
            { match: '^greek', text: ['alpha', ' be', 'ta ga', 'mma delta'] },
            { match: '^long', text: 'word ', repeat: 400 },
            { match: '^forever', text: 'tick ', repeat: 100_000, delay: 5 },
            { match: 'what did you see', echo: 'prompt' },
            {
              match: '^break',
              text: 'one two three four',
              error: { at: 3, message: 'The engine gave up.', code: 'engine_failed' },
            },
            { text: 'Hello there, friend.' },
          ],
        },
        plain: {
          engine: 'scripted',
          isolation: 'none',
          context: 128,
          capabilities: { images: false, reasoning: false, tools: false, infill: false, logprobs: false },
          script: [{ echo: 'prompt' }],
        },
        vectors: {
          engine: 'scripted',
          isolation: 'none',
          context: 128,
          capabilities: { tasks: ['embedding'] },
          dimensions: 64,
        },
        tiny: { source: TINY_CHAT },
        remote: { source: `${hub.endpoint}/remote.gguf` },
      },
    }
  }

  beforeAll(async () => {
    home = await temporaryFolder()
    hub = await HubServer.start()
    hub.files.set('/remote.gguf', { content: await readFile(TINY_CHAT) })
    yard = await createYard(options())
    server = await yard.listen({ host: '127.0.0.1', port: 0 })
    client = new Ollama({ host: server.url })
  })
  afterAll(async () => {
    await yard.stop()
    await hub[Symbol.asyncDispose]()
    await removeFolder(home)
  })

  const user = (content: string): { role: string; content: string }[] => [{ role: 'user', content }]

  async function gathered<Line>(lines: AsyncIterable<Line> | Promise<AsyncIterable<Line>>): Promise<Line[]> {
    const all: Line[] = []
    for await (const one of await lines) all.push(one)
    return all
  }

  const textOf = (lines: ChatResponse[]): string => lines.map(({ message }) => message.content).join('')

  async function raw(path: string, body?: object, method = 'POST'): Promise<Response> {
    return await fetch(server.url + path, { method, ...(body && { body: JSON.stringify(body) }) })
  }

  async function rejection(promise: Promise<unknown>): Promise<{ status_code: number; error: string }> {
    const thrown: unknown = await promise.catch((error: unknown) => error)
    return thrown as { status_code: number; error: string }
  }

  describe('what probes and editors read (BR-39)', () => {
    it.each(['GET', 'HEAD'])('%s / is Ollama’s text', async (method) => {
      const response = await fetch(server.url, { method })
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        200,
        'text/plain; charset=utf-8',
        method === 'GET' ? 'Ollama is running' : '',
      ])
    })

    it('the version is one that editors take', async () => {
      const { version } = await client.version()
      expect(version).toMatch(/^0\.(\d{2,})\.\d+$/)
    })

    it('list has all models, with tags', async () => {
      const { models } = await client.list()
      expect(models.map(({ name }) => name).sort()).toEqual([
        'plain:latest',
        'remote:latest',
        'talker:latest',
        'tiny:latest',
        'vectors:latest',
      ])
      const tiny = models.find(({ name }) => name === 'tiny:latest')
      expect(tiny).toMatchObject({
        model: 'tiny:latest',
        digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        size: (await readFile(TINY_CHAT)).length,
        details: {
          format: 'gguf',
          family: 'qwen2',
          families: ['qwen2'],
          parameter_size: expect.stringMatching(/K$/) as string,
        },
        capabilities: expect.arrayContaining(['completion']) as string[],
      })
      expect(new Date(tiny?.modified_at ?? '').getTime()).toBeGreaterThan(0)
    })

    it.each(['model', 'name'])('show takes %s, and says what editors need', async (field) => {
      const shown = (await (await raw('/api/show', { [field]: 'tiny' })).json()) as Record<string, unknown>
      expect(shown).toMatchObject({
        details: { format: 'gguf', family: 'qwen2', quantization_level: expect.any(String) as string },
        model_info: { 'general.architecture': 'qwen2', 'qwen2.context_length': expect.any(Number) as number },
        capabilities: expect.arrayContaining(['completion']) as string[],
        parameters: expect.stringMatching(/^num_ctx {24}\d+$/m) as string,
        modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
        template: expect.stringContaining('{') as string,
      })
      expect(JSON.stringify(shown)).not.toContain(join('test', 'models'))
    })

    it('show tells the configured context, not the architecture’s, and capabilities of other kinds', async () => {
      expect((await client.show({ model: 'talker' })).parameters).toContain('4096')
      const capabilities = async (model: string): Promise<string[]> =>
        (await client.show({ model })).capabilities
      expect(await capabilities('talker')).toEqual([
        'completion',
        'embedding',
        'tools',
        'insert',
        'vision',
        'thinking',
      ])
      expect(await capabilities('vectors')).toEqual(['embedding'])
      expect(await capabilities('plain')).toEqual(['completion', 'embedding'])
    })

    it('the preflight of browser clients passes', async () => {
      const response = await fetch(`${server.url}/api/chat`, {
        method: 'OPTIONS',
        headers: {
          origin: 'http://localhost:5173',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,user-agent,x-anything',
        },
      })
      expect([response.status, response.headers.get('access-control-allow-headers')]).toEqual([
        204,
        'content-type,user-agent,x-anything',
      ])
    })
  })

  describe('names (BR-37)', () => {
    it('each name of a list works everywhere, and the answer has the name that was asked for', async () => {
      const { models } = await client.list()
      for (const { name } of models.filter(({ name: one }) => /^(talker|plain)/.test(one))) {
        expect((await client.chat({ model: name, messages: user('Hi') })).model).toBe(name)
        expect((await client.generate({ model: name, prompt: 'Hi' })).model).toBe(name)
        expect((await client.show({ model: name })).details).toBeDefined()
        for (const path of ['/v1/chat/completions', '/v1/messages']) {
          const response = await fetch(server.url + path, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: name, max_tokens: 1, messages: user('Hi') }),
          })
          expect([response.status, await response.json()]).toMatchObject([200, { model: name }])
        }
        expect((await fetch(`${server.url}/v1/models/${name}`)).status).toBe(200)
      }
    })

    it.each(['talker', 'talker:latest', 'org/talker:Q4'])('%s is the model', async (model) => {
      expect(await client.chat({ model, messages: user('Hi') })).toMatchObject({ model, done: true })
    })

    it.each(['Talker', ' talker', 'talker:7b', 'org/talker', 'nobody'])('"%s" is nobody', async (model) => {
      const { status_code, error } = await rejection(client.chat({ model, messages: user('Hi') }))
      expect([status_code, error]).toEqual([404, expect.stringMatching(`^model '${model}' not found`)])
    })
  })

  describe('chat', () => {
    it('in one piece', async () => {
      expect(await client.chat({ model: 'talker', messages: user('Hi') })).toEqual({
        model: 'talker',
        created_at: expect.stringMatching(/Z$/) as string,
        message: { role: 'assistant', content: 'Hello there, friend.' },
        done: true,
        done_reason: 'stop',
        total_duration: expect.any(Number) as number,
        load_duration: expect.any(Number) as number,
        prompt_eval_count: 4,
        prompt_eval_duration: expect.any(Number) as number,
        eval_count: 3,
        eval_duration: expect.any(Number) as number,
      })
    })

    it('as lines: the default of the API', async () => {
      const lines = await gathered(client.chat({ model: 'talker', messages: user('Hi'), stream: true }))
      expect(textOf(lines)).toBe('Hello there, friend.')
      expect(lines.map(({ done }) => done)).toEqual([...lines.slice(1).map(() => false), true])
      expect(lines.at(-1)).toMatchObject({ done_reason: 'stop', eval_count: 3, prompt_eval_count: 4 })
      const untold = await raw('/api/chat', { model: 'talker', messages: user('Hi') })
      expect(untold.headers.get('content-type')).toBe('application/x-ndjson')
    })

    it('BR-02: characters made of several tokens stay whole', async () => {
      const lines = await gathered(client.chat({ model: 'talker', messages: user('emoji'), stream: true }))
      const { message } = await client.chat({ model: 'talker', messages: user('emoji') })
      expect([textOf(lines), message.content]).toEqual([' 😸你', ' 😸你'])
    })

    it('BR-41: stop strings over token borders, as a text and as a list', async () => {
      for (const stop of [
        ['beta gamma', 'zeta'],
        ['beta gamma', 'beta gamma delta', 'x', 'y', 'z'],
      ]) {
        const { message, done_reason } = await client.chat({
          model: 'talker',
          messages: user('greek'),
          options: { stop },
        })
        expect([message.content, done_reason]).toEqual(['alpha ', 'stop'])
      }
      const lines = await gathered(
        client.chat({
          model: 'talker',
          messages: user('greek'),
          options: { stop: ['beta gamma epsilon'] },
          stream: true,
        }),
      )
      expect(textOf(lines)).toBe('alpha beta gamma delta')
    })

    it('num_predict cuts and says so; −1 does not cut', async () => {
      const cut = async (num_predict: number): Promise<[string, number]> => {
        const { done_reason, eval_count } = await client.chat({
          model: 'talker',
          messages: user('long'),
          options: { num_predict },
        })
        return [done_reason, eval_count]
      }
      expect([await cut(5), await cut(0), await cut(-1), await cut(-2)]).toEqual([
        ['length', 5],
        ['length', 0],
        ['stop', 400],
        ['stop', 400],
      ])
    })

    it.each([false, true])(
      'tools: calls come whole with objects, and their results go back, streamed %j',
      async (stream) => {
        const ask = async (messages: ChatResponse['message'][]): Promise<ChatResponse[]> =>
          stream
            ? await gathered(client.chat({ model: 'talker', messages, tools: TOOLS, stream }))
            : [await client.chat({ model: 'talker', messages, tools: TOOLS })]
        const first = await ask(user('weather?'))
        const calls = first.flatMap(({ message }) => message.tool_calls ?? [])
        expect(calls.map(({ function: { name, arguments: given } }) => [name, given])).toEqual([
          ['get_weather', { city: 'Paris' }],
          ['get_weather', { city: 'Rome' }],
        ])
        const said = { role: 'assistant', content: textOf(first), tool_calls: calls }
        const results = calls.map(() => ({ role: 'tool', tool_name: 'get_weather', content: 'mild' }))
        expect(textOf(await ask([...user('weather?'), said, ...results]))).toBe('It is mild in both.')
      },
    )

    it.each([
      [true, 'Let me see.'],
      [undefined, 'Let me see.'],
      ['high' as const, 'Let me see.'],
      [false, undefined],
    ])('BR-38: think %j keeps thoughts apart from a content that is JSON', async (think, thought) => {
      const question = {
        model: 'talker',
        messages: user('think'),
        format: 'json',
        ...(think !== undefined && { think }),
      }
      const { message } = await client.chat(question)
      expect([message.thinking, message.content]).toEqual([thought, '{"done":true}'])
      const lines = await gathered(client.chat({ ...question, stream: true }))
      const thoughts = lines.map((one) => one.message.thinking ?? '').join('')
      expect([thoughts, textOf(lines)]).toEqual([thought ?? '', '{"done":true}'])
    })

    it('logprobs', async () => {
      const { logprobs } = await client.chat({
        model: 'talker',
        messages: user('odds'),
        logprobs: true,
        top_logprobs: 1,
      })
      expect(
        logprobs?.map(({ token, logprob, top_logprobs }) => [token, logprob, top_logprobs?.length]),
      ).toEqual([
        ['He', -0.25, 1],
        ['llo', -0.5, 1],
      ])
    })

    it('images arrive', async () => {
      const images = [new Uint8Array([0x89, 0x50, 0x4e, 0x47])]
      const messages = [{ role: 'user', content: 'what did you see', images }]
      expect((await client.chat({ model: 'talker', messages })).message.content).toMatch(
        /^image:\S+ what did you see$/,
      )
    })
  })

  describe('generate', () => {
    it('answers with a context that carries the conversation on, to another model too', async () => {
      const first = await client.generate({ model: 'talker', prompt: 'My name is Ada', system: 'Be brief.' })
      expect(first).toMatchObject({ response: 'Hello there, friend.', done: true, done_reason: 'stop' })
      for (const model of ['talker', 'plain']) {
        const { response } = await client.generate({
          model,
          prompt: 'what did you see',
          context: first.context,
        })
        expect(response).toBe('Be brief. My name is Ada Hello there, friend. what did you see')
      }
    })

    it('as lines, the context in the last', async () => {
      const lines = await gathered(client.generate({ model: 'talker', prompt: 'Hi', stream: true }))
      expect(lines.map(({ response }) => response).join('')).toBe('Hello there, friend.')
      expect(lines.filter(({ context }) => context !== undefined)).toEqual([lines.at(-1)])
    })

    it('raw uses no template and gives no context; a suffix asks for what stands between', async () => {
      const answer = await client.generate({ model: 'plain', prompt: 'what did you see', raw: true })
      expect([answer.response, answer.context]).toEqual(['what did you see', undefined])
      const infill = await client.generate({ model: 'talker', prompt: 'what did you see', suffix: 'end' })
      expect(infill.response).toBe('what did you see end')
    })

    it('a context that is not ours is a 400', async () => {
      const { status_code, error } = await rejection(
        client.generate({ model: 'talker', prompt: 'Hi', context: [1, 2, 3] }),
      )
      expect([status_code, error]).toEqual([400, expect.stringContaining("'context'")])
    })
  })

  describe('memory (BR-36, BR-16)', () => {
    const residents = async (): Promise<string[]> => (await client.ps()).models.map(({ name }) => name)

    it('an empty prompt loads, keep_alive 0 unloads, ps tells sizes and when it goes', async () => {
      await client.generate({ model: 'talker', prompt: '', keep_alive: 0 })
      expect(await residents()).not.toContain('talker:latest')
      const loaded = await (await raw('/api/generate', { model: 'talker' })).json()
      expect(loaded).toEqual({
        model: 'talker',
        created_at: expect.any(String) as string,
        response: '',
        done: true,
        done_reason: 'load',
      })
      const resident = (await client.ps()).models.find(({ name }) => name === 'talker:latest')
      expect(resident).toMatchObject({ size: 3 * 1024 ** 2, size_vram: 0, context_length: 4096 })
      const [end] = await gathered(
        client.chat({ model: 'talker', messages: [], keep_alive: 0, stream: true }),
      )
      expect(end).toMatchObject({
        message: { role: 'assistant', content: '' },
        done: true,
        done_reason: 'unload',
      })
      expect(await residents()).not.toContain('talker:latest')
    })

    it.each([
      [42.5, 42.5],
      ['42m', 2520],
      ['1h30m', 5400],
      ['90', 90],
      [-1, Number.POSITIVE_INFINITY],
      ['-1', Number.POSITIVE_INFINITY],
      ['-1m', Number.POSITIVE_INFINITY],
      ['24h', 86_400],
    ])('keep_alive %j: expires_at agrees', async (keep_alive, seconds) => {
      await client.chat({ model: 'talker', messages: user('Hi'), keep_alive })
      const resident = (await client.ps()).models.find(({ name }) => name === 'talker:latest')
      const left = (new Date(resident?.expires_at ?? 0).getTime() - Date.now()) / 1000
      const isForever = left > 100 * 365 * 86_400
      expect(isForever || left > seconds - 30).toBe(true)
      expect(isForever ? Number.POSITIVE_INFINITY : left).toBeLessThanOrEqual(seconds + 1)
      expect(isForever).toBe(seconds === Number.POSITIVE_INFINITY)
    })

    it.each([0, '0', '0s'])('keep_alive %j unloads right after the answer', async (keep_alive) => {
      await client.chat({ model: 'talker', messages: user('Hi'), keep_alive })
      await expect.poll(residents).not.toContain('talker:latest')
    })

    it.each(['', 'abc', true, [], {}, '5 minutes', '1d'])('keep_alive %j is a 400', async (keep_alive) => {
      for (const body of [{ messages: user('Hi') }, { prompt: 'Hi' }, { input: 'Hi' }]) {
        const path = 'messages' in body ? 'chat' : 'prompt' in body ? 'generate' : 'embed'
        const response = await raw(`/api/${path}`, { model: 'talker', keep_alive, ...body })
        const { error } = (await response.json()) as { error: string }
        expect([response.status, error]).toEqual([400, expect.stringContaining("'keep_alive'")])
      }
    })

    it('M3, F25: num_ctx up to the model’s loads nothing anew; more does, and smaller ones use that; until it is unloaded', async () => {
      const loads = (): number | undefined => yard.state().models.find(({ id }) => id === 'talker')?.loads
      const context = (): number | undefined =>
        yard.state().instances.find(({ model }) => model === 'talker')?.contextSize
      const chat = (num_ctx: number): Promise<ChatResponse> =>
        client.chat({ model: 'talker', messages: user('Hi'), options: { num_ctx } })
      await chat(2048)
      const before = loads()
      await chat(4096)
      await chat(1024)
      expect(loads()).toBe(before)
      await chat(8192)
      await chat(6000)
      expect([loads(), context()]).toEqual([(before ?? 0) + 1, 8192])
      await yard.unloadModel('talker')
      await chat(2048)
      expect(context()).toBe(4096)
    })
  })

  describe('embeddings', () => {
    it('embed one and many, with dimensions, normalised', async () => {
      const one = await client.embed({ model: 'vectors', input: 'a' })
      const many = await client.embed({ model: 'vectors', input: ['a', 'b', 'a'], dimensions: 8 })
      expect([one.embeddings.length, one.embeddings[0]?.length, one.prompt_eval_count]).toEqual([1, 64, 1])
      expect(many.embeddings.map((vector) => vector.length)).toEqual([8, 8, 8])
      expect(many.embeddings[0]).toEqual(many.embeddings[2])
      for (const vector of [...one.embeddings, ...many.embeddings])
        expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
      expect((await client.embeddings({ model: 'vectors', prompt: 'a' })).embedding).toEqual(
        one.embeddings[0],
      )
    })

    it('BR-34: a batch equals its single vectors', async () => {
      const input = Array.from({ length: 65 }, (_, index) => `text ${index}`)
      const { embeddings } = await client.embed({ model: 'vectors', input })
      for (const index of [0, 31, 64]) {
        const single = await client.embed({ model: 'vectors', input: input[index] ?? '' })
        expect(embeddings[index]).toEqual(single.embeddings[0])
      }
    })

    it('no input is a load', async () => {
      expect(await client.embed({ model: 'vectors', input: [] })).toEqual({
        model: 'vectors',
        embeddings: [],
      })
      expect(await client.embeddings({ model: 'vectors', prompt: '' })).toEqual({ embedding: [] })
    })

    it('E5: what is too long is cut and the answer says which; with truncate false it is a 400', async () => {
      const long = Array.from({ length: 300 }, (_, index) => `word${index}`).join(' ')
      const answer = await client.embed({ model: 'vectors', input: ['short', long] })
      expect(answer).toMatchObject({ truncated: [1], prompt_eval_count: 128 })
      expect(await client.embed({ model: 'vectors', input: 'short' })).not.toHaveProperty('truncated')
      const { status_code, error } = await rejection(
        client.embed({ model: 'vectors', input: long, truncate: false }),
      )
      expect([status_code, error]).toEqual([
        400,
        expect.stringMatching(/300 tokens, which exceeds .*context length of 128/),
      ])
    })
  })

  describe('models made of others', () => {
    it('create with a system text, parameters and turns; it shares the memory of its base and survives a restart', async () => {
      const made = await gathered(
        client.create({
          model: 'mario',
          from: 'plain:latest',
          system: 'You are Mario.',
          parameters: { temperature: 0, num_predict: 6, stop: ['END'], num_ctx: 64 },
          messages: [
            { role: 'user', content: 'Who?' },
            { role: 'assistant', content: 'Me!' },
          ],
          license: ['MIT', 'or so'],
          stream: true,
        }),
      )
      expect(made.map(({ status }) => status.replace(/[0-9a-f]{64}/, 'HASH'))).toEqual([
        'using existing layer sha256:HASH',
        'writing manifest',
        'success',
      ])
      const answer = await client.chat({ model: 'mario', messages: user('Hi') })
      expect(answer).toMatchObject({
        model: 'mario',
        message: { content: 'You are Mario. Who? Me! Hi' },
        done_reason: 'length',
      })
      expect((await client.ps()).models.map(({ name }) => name)).not.toContain('mario:latest')
      const { parameters, license, system, modelfile, details } = await client.show({ model: 'mario:latest' })
      expect(parameters.split('\n').map((text) => text.replace(/ +/, ' '))).toEqual([
        'num_ctx 128',
        'temperature 0',
        'num_predict 6',
        'stop "END"',
      ])
      expect([license, system, details.parent_model]).toEqual(['MIT\n\nor so', 'You are Mario.', 'plain'])
      expect(modelfile).toContain('FROM plain:latest')

      await yard.stop()
      yard = await createYard(options())
      server = await yard.listen({ host: '127.0.0.1', port: server.port })
      const again = await client.chat({
        model: 'mario',
        messages: [{ role: 'system', content: 'Be Luigi.' }, ...user('Hi')],
      })
      expect(again.message.content).toBe('Be Luigi. Who? Me! Hi')
      expect((await client.list()).models.map(({ name }) => name)).toContain('mario:latest')
      const viaOpenAi = await fetch(`${server.url}/v1/models/mario`)
      expect(await viaOpenAi.json()).toMatchObject({ id: 'mario' })
    })

    it('copy, a copy of what was made, delete', async () => {
      await client.create({ model: 'polite', from: 'plain', system: 'Be polite.' })
      await client.copy({ source: 'polite', destination: 'kind' })
      expect((await client.chat({ model: 'kind', messages: user('Hi') })).message.content).toBe(
        'Be polite. Hi',
      )
      await client.delete({ model: 'polite' })
      expect((await rejection(client.show({ model: 'polite' }))).status_code).toBe(404)
      expect((await client.chat({ model: 'kind:latest', messages: user('Hi') })).message.content).toBe(
        'Be polite. Hi',
      )
      await client.delete({ model: 'kind' })
    })

    it.each([
      [{ from: 'nobody' }, 404, 'not found'],
      [{}, 400, "'from'"],
      [{ from: 'plain', model: 'talker' }, 400, 'choose another name'],
      [{ from: 'plain', model: 'not a name' }, 400, 'letters, digits'],
      [{ from: 'plain', parameters: { num_ctx: 4096 } }, 400, 'parameters.num_ctx'],
      [{ from: 'plain', parameters: { mirostat: 2 } }, 501, 'parameters.mirostat'],
      [{ from: 'plain', quantize: 'q4_K_M' }, 501, "'quantize'"],
      [{ from: 'plain', template: '{{ .Prompt }}' }, 501, "'template'"],
      [{ from: 'plain', adapters: { a: 'b' } }, 501, "'adapters'"],
      [{ files: { 'a.gguf': 'sha256:0' } }, 501, "'files'"],
    ])('create %j is a %d', async (fields, status, words) => {
      for (const stream of [false, true]) {
        const response = await raw('/api/create', { model: 'made', stream, ...fields })
        const { error } = (await response.json()) as { error: string }
        expect([response.status, error]).toEqual([status, expect.stringContaining(words)])
      }
    })

    it.each([
      [{ source: 'nobody', destination: 'x' }, 404],
      [{ source: 'plain' }, 400],
      [{ source: 'plain', destination: '' }, 400],
    ])('copy %j is a %d', async (body, status) => {
      expect((await raw('/api/copy', body)).status).toBe(status)
    })
  })

  describe('fetching and removing', () => {
    it('pull with progress, once more, use, delete', async () => {
      hub.speed = 400_000
      const lines = await gathered(client.pull({ model: 'remote', stream: true }))
      hub.speed = 0
      const size = (await readFile(TINY_CHAT)).length
      expect(lines[0]?.status).toBe('pulling manifest')
      expect(lines.slice(-3).map(({ status }) => status)).toEqual([
        'verifying sha256 digest',
        'writing manifest',
        'success',
      ])
      const moving = lines.filter(({ digest }) => digest !== undefined)
      expect(moving.length).toBeGreaterThan(1)
      expect(moving.at(-1)).toMatchObject({
        total: size,
        completed: size,
        status: expect.stringMatching(/^pulling [0-9a-f]{12}$/) as string,
      })
      expect(moving.every(({ digest, status }) => digest.startsWith(`sha256:${status.slice(-12)}`))).toBe(
        true,
      )
      const counts = moving.map(({ completed }) => completed)
      expect(counts).toEqual([...counts].sort((a, b) => a - b))

      hub.fault = (_request, response) => {
        response.destroy()
        return true
      }
      expect(await client.pull({ model: 'remote:latest' })).toEqual({ status: 'success' })
      hub.fault = undefined
      expect((await client.show({ model: 'remote' })).details.family).toBe('qwen2')
      await client.copy({ source: 'remote', destination: 'standing' })
      expect(await rejection(client.delete({ model: 'remote' }))).toMatchObject({
        status_code: 400,
        error: expect.stringContaining('"standing"') as string,
      })
      await client.delete({ model: 'standing' })
      await client.delete({ model: 'remote' })
      expect((await client.list()).models.find(({ name }) => name === 'remote:latest')).toMatchObject({
        size: 0,
      })
    })

    it('a pull that fails tells so in a line, and one that is left ends', async () => {
      const reading = gathered(client.pull({ model: 'llama3.2', stream: true }))
      await expect(reading).rejects.toThrow("model 'llama3.2' not found")
      expect(await rejection(client.pull({ model: 'llama3.2' }))).toMatchObject({ status_code: 404 })
      hub.speed = 50_000
      const stream = await client.pull({ model: 'remote', stream: true })
      const seen: ProgressResponse[] = []
      const left = (async () => {
        for await (const progress of stream) {
          seen.push(progress)
          if (progress.completed > 0) stream.abort()
        }
      })()
      await expect(left).rejects.toThrow(/abort/i)
      await expect.poll(() => hub.sending).toBe(0)
      hub.speed = 0
    })

    it.each([
      ['DELETE', '/api/delete', { model: 'nobody' }, 404],
      ['DELETE', '/api/delete', { model: 'tiny' }, 400],
      ['DELETE', '/api/delete', { model: 'talker' }, 404],
      ['DELETE', '/api/delete', {}, 400],
      ['POST', '/api/push', { model: 'talker' }, 501],
      ['HEAD', `/api/blobs/sha256:${'0'.repeat(64)}`, undefined, 404],
      ['HEAD', '/api/blobs/banana', undefined, 400],
      ['POST', `/api/blobs/sha256:${'0'.repeat(64)}`, { some: 'bytes' }, 501],
      ['GET', '/api/blobs/sha256:0', undefined, 405],
      ['GET', '/api/nope', undefined, 404],
      ['GET', '/api/chat', undefined, 405],
      ['GET', '//api//tags/', undefined, 200],
    ])('BR-12: %s %s %j is a %d', async (method, path, body, status) => {
      const response = await raw(path, body, method)
      const text = await response.text()
      expect([
        response.status,
        method === 'HEAD' || status === 200 || /^\{"error":".+"\}$/.test(text),
      ]).toEqual([status, true])
    })
  })

  describe('errors', () => {
    it.each([
      ['BR-10: an image for a model without eyes', { messages: [{ role: 'user', content: '', images: ['iVBORw=='] }] }, 400, '"plain" does not support images'],
      ['BR-38: think for a model that cannot', { messages: user('Hi'), think: true }, 400, '"plain" does not support thinking'],
      ['tools for a model without them', { messages: user('Hi'), tools: TOOLS }, 400, '"plain" does not support tools'],
      ['BR-07: a prompt that is too long', { messages: user('word '.repeat(300)) }, 400, 'the input has 303 tokens, which exceeds the model\'s maximum context length of 128 tokens'],
      ['BR-08: an odd format', { messages: user('Hi'), format: 'xml' }, 400, "'format'"],
      ['an invented role', { messages: [{ role: 'banana', content: 'x' }] }, 400, "'messages[0].role'"],
    ])('%s', async (_what, fields, status, words) => {
      for (const stream of [false, true]) {
        const response = await raw('/api/chat', { model: 'plain', stream, ...fields })
        const { error } = (await response.json()) as { error: string }
        expect([response.status, response.headers.get('content-type'), error]).toEqual([
          status,
          'application/json',
          expect.stringContaining(words),
        ])
      }
    }) // prettier-ignore

    it('E5: truncate drops the oldest turns, keeps the system text and says so', async () => {
      const turn = (index: number): { role: string; content: string }[] => [
        { role: 'user', content: `question${index} ${'word '.repeat(20)}` },
        { role: 'assistant', content: `answer${index} ${'word '.repeat(20)}` },
      ]
      const messages = [
        { role: 'system', content: 'Be brief.' },
        ...Array.from({ length: 6 }, (_, index) => turn(index)).flat(),
        { role: 'user', content: 'and now' },
      ]
      const refused = await raw('/api/chat', { model: 'plain', messages, stream: false })
      expect(refused.status).toBe(400)
      const response = await raw('/api/chat', { model: 'plain', messages, truncate: true, stream: false })
      const answer = (await response.json()) as ChatResponse & { truncated_messages: number }
      expect(answer.truncated_messages).toBe(8)
      expect(answer.message.content).toMatch(/^Be brief\. question4 word/)
      const short = await raw('/api/chat', {
        model: 'plain',
        messages: user('Hi'),
        truncate: true,
        stream: false,
      })
      expect(await short.json()).not.toHaveProperty('truncated_messages')
    })

    it('BR-09: a failure in mid-stream is thrown, after the text that came', async () => {
      let text = ''
      const reading = (async () => {
        const lines = await client.chat({ model: 'talker', messages: user('break'), stream: true })
        for await (const { message } of lines) text += message.content
      })()
      await expect(reading).rejects.toThrow('The engine gave up.')
      expect(text).toBe('one two three')
      expect((await client.chat({ model: 'talker', messages: user('Hi') })).done).toBe(true)
    })

    it('BR-13: a stream that is left frees its slot', async () => {
      const stream = await client.chat({ model: 'talker', messages: user('forever'), stream: true })
      const reading = (async () => {
        for await (const { done } of stream) if (!done) stream.abort()
      })()
      await expect(reading).rejects.toThrow(/abort/i)
      await expect.poll(() => yard.state().runs.active).toBe(0)
    })
  })
})
