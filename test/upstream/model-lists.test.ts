import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { EndpointSurvey } from '../../src/engines/upstream/endpoint-survey.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { openRemote } from '../contracts/upstream-subject.ts'
import { NEVER } from '../node-llama-cpp/fixtures.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { event, FakeUpstream, refuse } from './fake-upstream.ts'

const MESSAGES = [{ role: 'user' as const, content: 'hi' }]

let folder: string
let yard: Yard | undefined
let fake: FakeUpstream
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))
beforeEach(async () => {
  fake = await FakeUpstream.start()
})
afterEach(async () => {
  await yard?.stop({ deadline: 0 })
  yard = undefined
  await fake[Symbol.asyncDispose]()
})

let homes = 0
async function open(
  url: string,
  options: Record<string, unknown> = {},
  home = `home${homes++}`,
): Promise<Yard> {
  yard = await createYard({
    home: join(folder, home),
    models: { 'lab/*': { engine: 'upstream', url, retries: 0, ...options } },
  })
  return yard
}

async function ids(of: Yard): Promise<string[]> {
  return (await of.listModels()).map(({ id }) => id)
}

describe('an entry for all models of an endpoint', () => {
  it('has the models of another yard under its prefix, each of which answers', async () => {
    const remote = await openRemote(join(folder, 'remote'))
    const near = await open(`${remote.url}/v1`)
    expect(await ids(near)).toEqual(['lab/talker', 'lab/embedder'])
    const { text } = await near.chat({ model: 'lab/talker', messages: MESSAGES }).answer()
    expect(text).toBe('Hello, how are you today?')
    const { vectors } = await near.embed({ model: 'lab/embedder', input: ['one'] })
    expect(vectors[0]?.length).toBe(64)
    // The other yard has prepared it by now, and tells what it can.
    await near.control.refreshModelLists()
    await near.unloadModel('lab/talker')
    const { endpoint, capabilities } = await near.control.describeModel('lab/talker')
    expect(endpoint?.abilities).toContainEqual({ name: 'prefill', has: true, source: 'its model list' })
    expect(capabilities).toMatchObject({ prefill: true, grammar: false })
    await remote.yard.stop({ deadline: 0 })
  })

  it('follows its endpoint on demand: new models come, vanished ones stay and are marked', async () => {
    const near = await open(fake.url)
    const events: YardEvent[] = []
    near.subscribe((happened) => events.push(happened))
    fake.models = ['second']
    expect(await near.control.refreshModelLists()).toMatchObject([
      { entry: 'lab/*', models: 1, vanished: 1, problem: null },
    ])
    expect(await ids(near)).toEqual(['lab/second', 'lab/remote'])
    const listed = await near.listModels()
    expect(listed.map(({ problem }) => problem?.includes('does not list it any more') ?? false)).toEqual([
      false,
      true,
    ])
    expect(events.filter(({ name }) => name === 'model-list-changed').map(({ data }) => data)).toEqual([
      { entry: 'lab/*', added: ['lab/second'], vanished: ['lab/remote'] },
    ])
    await expect(near.chat({ model: 'lab/remote', messages: MESSAGES }).answer()).rejects.toThrow(
      'has no model "remote"',
    )
  })

  it('asks again after its period', async () => {
    const near = await open(fake.url, { refresh: '100ms' })
    fake.models = ['remote', 'later']
    await vi.waitFor(async () => expect(await ids(near)).toContain('lab/later'), {
      timeout: 20_000,
      interval: 50,
    })
  })

  it('keeps its list when the endpoint is gone, over a restart too, and says why', async () => {
    const home = 'kept'
    const { url } = fake
    await (await open(url, {}, home)).stop()
    await fake[Symbol.asyncDispose]()
    const near = await open(url, {}, home)
    expect(await ids(near)).toEqual(['lab/remote'])
    await near.control.refreshModelLists()
    expect((await near.listModels())[0]?.problem).toContain(`cannot be reached at ${url}`)
    fake = await FakeUpstream.start()
  })

  it('gives way to an entry of one of its models, which says only what differs', async () => {
    yard = await createYard({
      home: false,
      models: {
        'lab/*': { engine: 'upstream', url: fake.url, slots: 3 },
        'lab/remote': { slots: 2, aliases: 'favourite' },
      },
    })
    const { text } = await yard.chat({ model: 'favourite', messages: MESSAGES }).answer()
    expect(text).toBe('fine')
    expect(yard.state().instances[0]?.slots.length).toBe(2)
    expect(await ids(yard)).toEqual(['lab/remote'])
  })

  it('M2: one of its models can be pinned and hidden while the yard runs', async () => {
    fake.models = ['remote', 'other']
    const near = await open(fake.url)
    await near.control.settings.change({
      'models.lab/other.enabled': false,
      'models.lab/remote.pinned': true,
    })
    expect(await ids(near)).toEqual(['lab/remote'])
    const { text } = await near.chat({ model: 'lab/remote', messages: MESSAGES }).answer()
    expect(text).toBe('fine')
  })

  it('says what is wrong where the endpoint lists no models, and refuses what cannot be', async () => {
    fake.models = undefined
    const near = await open(fake.url)
    expect(near.state().modelLists[0]?.problem).toContain('does not list its models')
    await expect(
      createYard({ home: false, models: { 'lab/*': { source: './a.gguf' } } }),
    ).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('which only "upstream" can list') as string,
    })
    await expect(
      createYard({ home: false, models: { '*': { engine: 'upstream', url: fake.url, aliases: 'one' } } }),
    ).rejects.toThrow("is one model's")
  })
})

describe('what an endpoint has', () => {
  it('is found by its documented routes: what is not there is refused before anything is sent', async () => {
    fake.documents.set('/openapi.json', { paths: { '/v1/chat/completions': {}, '/tokenize': {} } })
    fake.entries = { max_model_len: 2048 }
    const near = await open(fake.url)
    const { endpoint, contextLength, capabilities } = await near.control.describeModel('lab/remote')
    expect([contextLength, capabilities?.tasks]).toEqual([2048, ['chat']])
    expect(endpoint?.abilities).toContainEqual({
      name: 'embedding',
      has: false,
      source: 'the routes that it documents',
    })
    await expect(near.embed({ model: 'lab/remote', input: ['one'] })).rejects.toMatchObject({
      code: 'unsupported',
    })
    expect(fake.chats).toBe(0)
  })

  it('is learned from its refusals: the second request of that kind is not sent', async () => {
    fake.answers.splice(0, 9, refuse(400, 'far does not support tools'))
    const near = await open(fake.url)
    const tools = [{ name: 'now', description: 'the time', parameters: { type: 'object' } }]
    const ask = near.chat({ model: 'lab/remote', messages: MESSAGES, tools }).answer()
    await expect(ask).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('far does not support tools') as string,
    })
    const again = near.chat({ model: 'lab/remote', messages: MESSAGES, tools }).answer()
    await expect(again).rejects.toMatchObject({ code: 'unsupported' })
    expect(fake.chats).toBe(1)
    const { endpoint } = await near.control.describeModel('lab/remote')
    expect(endpoint?.abilities).toEqual([
      { name: 'tools', has: false, source: 'it refused it with HTTP 400' },
    ])
  })

  it('that was refused is tried again after 10 minutes', async () => {
    const clock = new ManualClock()
    const survey = new EndpointSurvey(clock)
    const endpoint = { model: 'far', urls: [fake.url], key: undefined }
    const changed = vi.fn<() => void>()
    survey.refused(endpoint, 'remote', { name: 'tools', has: false, source: 'a refusal' }, changed)
    expect((await survey.factsOf(endpoint, 'remote', NEVER)).abilities).toHaveLength(1)
    clock.advance(600_000)
    expect(changed).toHaveBeenCalledOnce()
    expect((await survey.factsOf(endpoint, 'remote', NEVER)).abilities).toEqual([])
  })

  it('is asked for again soon when it was not told in time; a vLLM counts tokens meanwhile', async () => {
    const clock = new ManualClock()
    const survey = new EndpointSurvey(clock)
    const endpoint = { model: 'far', urls: [fake.url], key: undefined }
    fake.entries = { owned_by: 'vllm' }
    fake.silent.add('/openapi.json')
    fake.documents.set('/openapi.json', { paths: { '/v1/chat/completions': {}, '/tokenize': {} } })
    const first = survey.factsOf(endpoint, 'remote', NEVER)
    await vi.waitFor(() => expect(fake.keys).toHaveLength(2), 20_000)
    clock.advance(3000)
    const ofVllm = ['prefill', 'tokenInput'].map((name) => {
      return { name, has: true, source: 'it is served by vLLM' }
    })
    expect(await first).toMatchObject({ abilities: ofVllm, counting: 'tokenize-messages' })
    fake.silent.clear()
    clock.advance(4000)
    expect((await survey.factsOf(endpoint, 'remote', NEVER)).abilities).toEqual(ofVllm)
    clock.advance(1000)
    expect((await survey.factsOf(endpoint, 'remote', NEVER)).abilities).toHaveLength(9)
  })

  it('is overruled by what the configuration says', async () => {
    fake.documents.set('/openapi.json', { paths: { '/v1/chat/completions': {} } })
    const near = await open(fake.url, { capabilities: { tasks: ['embedding'], images: true } })
    expect((await near.control.describeModel('lab/remote')).capabilities).toMatchObject({
      tasks: ['embedding'],
      images: true,
    })
  })
})

describe('tokens of a prompt', () => {
  const chat = { kind: 'chat' as const, messages: MESSAGES, sampling: {}, stop: [] }

  it('are counted by vLLM with the messages themselves', async () => {
    fake.documents.set('/openapi.json', { paths: { '/v1/chat/completions': {}, '/tokenize': {} } })
    fake.documents.set('/tokenize', { count: 31, max_model_len: 2048, tokens: [] })
    const near = await open(fake.url)
    expect(await near.countTokens('lab/remote', chat)).toBe(31)
    expect(fake.received).toEqual([{ model: 'remote', messages: MESSAGES, add_generation_prompt: true }])
  })

  it('of an answer to be continued are counted by vLLM without the beginning of another', async () => {
    fake.entries = { owned_by: 'vllm' }
    fake.documents.set('/openapi.json', { paths: { '/v1/chat/completions': {}, '/tokenize': {} } })
    fake.documents.set('/tokenize', { count: 33 })
    const near = await open(fake.url)
    const messages = [...MESSAGES, { role: 'assistant' as const, content: 'Hel' }]
    expect(await near.countTokens('lab/remote', { ...chat, messages })).toBe(33)
    expect(fake.received.at(-1)).toEqual({
      model: 'remote',
      messages,
      add_generation_prompt: false,
      continue_final_message: true,
    })
  })

  it('are counted by llama.cpp after it has rendered them', async () => {
    fake.entries = { owned_by: 'llamacpp' }
    fake.documents.set('/props', { default_generation_settings: { n_ctx: 512 } })
    fake.documents.set('/apply-template', { prompt: '<|user|>hi' })
    fake.documents.set('/tokenize', { tokens: [1, 2, 3] })
    const near = await open(fake.url)
    expect(await near.countTokens('lab/remote', chat)).toBe(3)
    expect(fake.received.at(-1)).toEqual({ content: '<|user|>hi', add_special: true, parse_special: true })
    expect((await near.findModel('lab/remote')).contextLength).toBe(512)
  })

  it('of an answer that nobody counted are null, not zero', async () => {
    fake.answers.splice(0, 9, (_, response) => {
      const chunk = { choices: [{ delta: { content: 'fine' }, finish_reason: 'stop' }] }
      response.end(event(chunk) + event('[DONE]'))
    })
    const { url } = await (await open(fake.url)).listen({ port: 0 })
    const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
      const headers = { 'content-type': 'application/json' }
      const sent = JSON.stringify({ model: 'lab/remote', messages: MESSAGES, ...body })
      const answer = await fetch(url + path, { method: 'POST', headers, body: sent })
      return (await answer.json()) as Record<string, unknown>
    }
    expect((await post('/v1/chat/completions', {}))['usage']).toBeNull()
    const ollama = await post('/api/chat', { stream: false })
    expect([ollama['done'], ollama['eval_count']]).toEqual([true, undefined])
  })

  it('are never guessed', async () => {
    await expect((await open(fake.url)).countTokens('lab/remote', chat)).rejects.toMatchObject({
      code: 'unsupported',
    })
  })
})
