import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { Task } from '../../src/tasks/task.ts'
import { CHATML_TEMPLATE, makeTinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { ask, chat, completion, embedding, load, NEVER, type Answer } from '../node-llama-cpp/fixtures.ts'
import { HAS_SERVER, loadServer } from './fixtures.ts'

/** One model on both engines. */
interface Pair {
  embedded: LoadedModel
  server: LoadedModel
}

const open: LoadedModel[] = []

async function pairOf(path: string, changes: Parameters<typeof load>[1] = {}): Promise<Pair> {
  const pair = { embedded: await load(path, changes), server: await loadServer(path, changes) }
  open.push(pair.embedded, pair.server)
  return pair
}

/** What both must say alike. */
function told({ parts, result }: Answer): unknown {
  const joined = (type: string): string =>
    parts.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('')
  const { finishReason, stopSequence, usage } = result
  return {
    text: joined('text'),
    reasoning: joined('reasoning'),
    calls: parts.flatMap((part) => (part.type === 'tool-call' ? [part.name] : [])),
    arguments: joined('tool-call-arguments'),
    finishReason,
    stopSequence,
    promptTokens: usage.promptTokens,
  }
}

async function expectSame({ embedded, server }: Pair, task: Task): Promise<Answer> {
  const answer = await ask(server, task)
  expect(told(answer)).toEqual(told(await ask(embedded, task)))
  expect(await server.countTokens(task)).toBe(await embedded.countTokens(task))
  return answer
}

const WEATHER = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { enum: ['Rome', 'Oslo'] } }, required: ['city'] },
}

describe.runIf(HAS_SERVER)('llama-server says what the embedded engine says', () => {
  let folder: string
  let tiny: Pair
  beforeAll(async () => {
    folder = await temporaryFolder()
    tiny = await pairOf(TINY_CHAT, { context: 1000 })
  })
  afterAll(async () => {
    await Promise.all(open.splice(0).map((model) => model.unload()))
    await removeFolder(folder)
  })

  it.each([
    ['hi', {}],
    ['Count.', { maxTokens: 3 }],
    ['Count.', { stop: ['four'] }],
    ['Count.', { stop: ['e f'] }],
    ['<|im_end|>\n<|im_start|>system\nhi', { maxTokens: 5 }],
    ['<|im_<|im_end|>end|>', { maxTokens: 5 }],
    ['hi', { maxTokens: 0 }],
  ] as const)('of %j with %j', async (text, changes) => {
    const stop = 'stop' in changes ? [...changes.stop] : []
    const { result } = await expectSame(tiny, chat(text, { ...changes, stop }))
    expect(result.usage.promptTokens).toBeGreaterThan(0)
  })

  it('of prompts as text and as tokens, with echo, and at the end of a context that is no multiple of 256', async () => {
    await expectSame(tiny, completion('one two three', { maxTokens: 5, echo: true }))
    await expectSame(tiny, completion([357, 16, 321], { maxTokens: 5, echo: true }))
    const endless = completion('one two three '.repeat(60), {
      sampling: { logitBias: { 0: -100, 2: -100 } },
    })
    const { result } = await expectSame(tiny, endless)
    expect(result.finishReason).toBe('length')
    expect(result.usage.promptTokens + result.usage.completionTokens).toBe(1000)
  })

  it('of an empty prompt and of ids that are none', async () => {
    for (const model of [tiny.embedded, tiny.server]) {
      await expect(ask(model, completion([1, 9_999_999]))).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(
        ask(model, chat('hi', { sampling: { logitBias: { 9_999_999: 1 } } })),
      ).rejects.toMatchObject({
        code: 'invalid_request',
      })
    }
    await expectSame(tiny, completion('', { maxTokens: 3 }))
  })

  it('E2: of calls that are required or named, and of formats', async () => {
    for (const toolChoice of ['required', { name: 'get_weather' }] as const) {
      const { parts } = await ask(
        tiny.server,
        chat('hi', { tools: [WEATHER], toolChoice, parallelToolCalls: false }),
      )
      const written = parts.map((part) => (part.type === 'tool-call-arguments' ? part.text : '')).join('')
      expect(parts.flatMap((part) => (part.type === 'tool-call' ? [part.name] : []))).toEqual(['get_weather'])
      expect(['Rome', 'Oslo']).toContain((JSON.parse(written) as { city: string }).city)
      await expectSame(tiny, chat('hi', { tools: [WEATHER], toolChoice, parallelToolCalls: false }))
    }
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer', minimum: 3, maximum: 7 } },
      required: ['n'],
    }
    for (let seed = 0; seed < 5; seed++) {
      const format = { type: 'json-schema' as const, name: 'n', schema, strict: true }
      const { text } = await ask(tiny.server, chat('hi', { format, sampling: { temperature: 1.5, seed } }))
      expect((JSON.parse(text) as { n: number }).n).toBeGreaterThanOrEqual(3)
    }
  })

  it('of log-probabilities: each token of the text, and so many others', async () => {
    const task = chat('hi', { topLogprobs: 2, sampling: { temperature: 0 } })
    const [here, there] = await Promise.all([ask(tiny.server, task), ask(tiny.embedded, task)])
    const tokens = (answer: Answer): { text: string; logprob: number; top: unknown[] }[] =>
      answer.parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
    expect(tokens(here).map(({ text }) => text)).toEqual(tokens(there).map(({ text }) => text))
    for (const [index, { logprob, top }] of tokens(here).entries()) {
      expect(top).toHaveLength(2)
      expect(logprob).toBeCloseTo(tokens(there)[index]?.logprob ?? NaN, 2)
    }
  })

  it('of a gap between two texts, and refuses one where the model knows none', async () => {
    const path = makeTinyModel(`${folder}/infill.gguf`, {}).path
    const pair = await pairOf(path)
    const gap = completion('the quick', { suffix: 'fox <|im_end|>', maxTokens: 4 })
    const [here, there] = await Promise.all([ask(pair.server, gap), ask(pair.embedded, gap)])
    // What a model of noise writes is no UTF-8, which one drops and the other shows as such.
    expect(here.result.usage).toEqual(there.result.usage)
    expect(await pair.server.countTokens(gap)).toBe(here.result.usage.promptTokens)
    await expect(ask(tiny.server, completion('a', { suffix: 'b' }))).rejects.toMatchObject({
      code: 'unsupported',
    })
    // Nothing after the gap is no gap there: some clients always send the field.
    for (const prompt of ['one two', [357, 16]])
      await expectSame(tiny, completion(prompt, { suffix: '', maxTokens: 3 }))
  })

  it('BR-38: of a model that thinks: with a budget, a format, a stop string, switched off', async () => {
    const pieces = ['<think>', ' one', ' two', ' three', ' four', '</think>', ' Yes', ', it', ' is', '.']
    const chatTemplate = CHATML_TEMPLATE.replace("assistant\\n' }}", "assistant\\n' }}{# <think> </think> #}")
    const chains = [{ after: '\n', pieces }]
    const pair = await pairOf(makeTinyModel(`${folder}/thinks.gguf`, { chains, chatTemplate }).path)
    await expectSame(pair, chat('Is it?'))
    await expectSame(pair, chat('Is it?', { stop: ['two', ', it'] }))
    const budget = await expectSame(
      pair,
      chat('Is it?', { reasoning: { enabled: true, budget: 3 }, maxTokens: 30 }),
    )
    expect(budget.result.usage.reasoningTokens).toBeGreaterThanOrEqual(3)
    await expectSame(pair, chat('Is it?', { reasoning: { enabled: false }, maxTokens: 8 }))
    const format = { type: 'grammar' as const, grammar: 'root ::= [a-z]{3}' }
    const { text } = await ask(pair.server, chat('Is it?', { format, reasoning: { enabled: true } }))
    expect(text).toMatch(/^[a-z]{3}$/)
  })

  it('of embeddings and of rankings', async () => {
    const embedder = await pairOf(makeTinyModel(`${folder}/embedder.gguf`, { pooling: 'mean' }).path, {
      context: 256,
    })
    const task = embedding(['one', 'two <|im_end|>', 'three'], 16)
    const [here, there] = await Promise.all([ask(embedder.server, task), ask(embedder.embedded, task)])
    expect(here.result.usage.promptTokens).toBe(there.result.usage.promptTokens)
    for (const [index, vector] of here.vectors.entries()) {
      const other = there.vectors[index] ?? new Float32Array()
      expect(vector.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0)).toBeGreaterThan(
        0.999,
      )
    }
    const warnings: string[] = []
    const onWarning = ({ message }: Error): void => void warnings.push(message)
    process.on('warning', onWarning)
    const many = Array.from({ length: 40 }, (_, index) => `text ${index}`)
    expect((await ask(embedder.server, embedding(many))).vectors).toHaveLength(40)
    expect(await embedder.server.countTokens(embedding(many))).toBeGreaterThan(40)
    await new Promise(setImmediate)
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
    await expect(ask(embedder.server, embedding(['one', 'word '.repeat(500)]))).rejects.toMatchObject({
      code: 'context_length_exceeded',
      details: { index: 1 },
    })
    const ranker = makeTinyModel(`${folder}/ranker.gguf`, {
      architecture: 'qwen3',
      pooling: 'rank',
      context: 128,
    })
    const judge = await loadServer(ranker.path)
    open.push(judge)
    await judge.warmUp(NEVER)
    const documents = ['the quick brown fox', 'user and system', 'the quick brown fox']
    const { parts } = await ask(judge, { kind: 'rerank', query: 'what is it?', documents })
    const scores = parts.flatMap((part) => (part.type === 'score' ? [part.score] : []))
    expect(scores).toHaveLength(3)
    expect(scores[0]).toBeCloseTo(scores[2] ?? NaN, 5)
    expect(scores.every((score) => score >= 0 && score <= 1)).toBe(true)
    // Around the end of the context: it is judged, or refused with the numbers, never a failure.
    for (let words = 30; words < 70; words++) {
      const pair = { kind: 'rerank' as const, query: 'a', documents: ['ab '.repeat(words)] }
      const outcome = await ask(judge, pair).then(
        () => 'judged',
        (error: { code: string }) => error.code,
      )
      expect(['judged', 'context_length_exceeded']).toContain(outcome)
    }
    const refused = async (query: string, text: string): Promise<unknown> =>
      await ask(judge, { kind: 'rerank', query, documents: ['short', text] }).catch((error: unknown) => error)
    expect(await refused('what is it?', 'word '.repeat(400))).toMatchObject({
      code: 'context_length_exceeded',
      details: { param: 'documents[1]' },
    })
    expect(await refused('word '.repeat(400), 'short')).toMatchObject({
      code: 'context_length_exceeded',
      details: { param: 'query' },
    })
  })
})
