import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import type { ModelyardError } from '../../base/errors.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { Message } from '../../tasks/message.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import type { RerankTask } from '../../tasks/rerank-task.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import { ScriptedEngine } from './scripted-engine.ts'
import type { ScriptEntry } from './scripted-options.ts'

const FACTS = { format: 'none', fileSize: 0, contentId: 'none', purpose: 'generation' } as const

function spec(engineOptions: Record<string, unknown>, overrides: Partial<ModelSpec> = {}): ModelSpec {
  return {
    id: 'fake',
    engine: 'scripted',
    slots: 2,
    minInstances: 0,
    maxInstances: 1,
    keepAlive: 300_000,
    pinned: false,
    prepare: 'on-demand',
    isolation: 'none',
    device: { gpu: false, memoryLock: false },
    aliases: [],
    defaults: {},
    engineOptions,
    ...overrides,
  }
}

const never = (): AbortSignal => new AbortController().signal
const planOf = (options: Record<string, unknown>, overrides?: Partial<ModelSpec>): LoadPlan =>
  new ScriptedEngine().plan(spec(options, overrides), FACTS)

async function load(options: Record<string, unknown>, clock = new ManualClock()): Promise<LoadedModel> {
  const loading = new ScriptedEngine({ clock }).load(planOf(options), {
    signal: never(),
    onProgress: () => undefined,
  })
  return await loading
}

const script = async (...entries: ScriptEntry[]): Promise<LoadedModel> => await load({ script: entries })

function chat(content: string | Message[], overrides: Partial<ChatTask> = {}): ChatTask {
  const messages: Message[] = typeof content === 'string' ? [{ role: 'user', content }] : content
  return { kind: 'chat', messages, sampling: {}, stop: [], ...overrides }
}

async function collect(stream: PartStream): Promise<{ parts: Part[]; result: Result }> {
  const parts: Part[] = []
  let step = await stream.next()
  for (; step.done !== true; step = await stream.next()) parts.push(step.value)
  return { parts, result: step.value }
}

async function run(
  model: LoadedModel,
  task: Task,
  options: Partial<RunOptions> = {},
): Promise<{ parts: Part[]; text: string; result: Result }> {
  const { parts, result } = await collect(
    model.run(task, { slot: 0, keptPrefix: 0, signal: never(), ...options }),
  )
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return { parts, text, result }
}

async function failure(promise: Promise<unknown>): Promise<ModelyardError> {
  return (await promise.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error,
  )) as ModelyardError
}

/** Lets everything run that waits for nothing but promises. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

describe('a script', () => {
  it('answers with the first entry whose expression fits the last user text', async () => {
    const model = await script({ match: 'weather', text: 'Sunny.' }, { match: '.*', text: ['Hel', 'lo'] })
    expect((await run(model, chat('How is the weather?'))).text).toBe('Sunny.')
    expect((await run(model, chat('hi'))).parts).toEqual([
      { type: 'started', promptTokens: 4, cachedTokens: 0 },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ])
  })

  it('tells the turn after a tool result from the one before', async () => {
    const model = await script(
      { after: 'tool', text: 'It is 20 degrees.' },
      {
        match: '/WEATHER/i',
        toolCalls: [{ name: 'get_weather', arguments: { city: 'Rome' }, id: 'call_1' }],
      },
    )
    const asked: Message[] = [{ role: 'user', content: 'weather?' }]
    const first = await run(model, chat(asked))
    expect(first.parts.slice(1)).toEqual([
      { type: 'tool-call', index: 0, id: 'call_1', name: 'get_weather' },
      { type: 'tool-call-arguments', index: 0, text: '{"city":"Rome"}' },
    ])
    expect(first.result.finishReason).toBe('tool-calls')
    const answered = chat([...asked, { role: 'tool', content: '20', toolCallId: 'call_1' }])
    expect((await run(model, answered)).text).toBe('It is 20 degrees.')
  })

  it('says the user’s own words where nothing is scripted', async () => {
    expect((await run(await load({}), chat('one two'))).text).toBe('one two')
  })

  it('says clearly that no entry fits, before the first part', async () => {
    const error = await failure(run(await script({ match: 'x' }), chat('y')))
    expect(error).toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining('No entry') as string,
    })
  })

  it('refuses an expression that is none, naming the entry', () => {
    expect(() => planOf({ script: [{ text: 'a' }, { match: '(' }] })).toThrow(/script\[1\]\.match/)
  })

  it('names the place of a mistyped option', () => {
    expect(() => planOf({ script: [{ txet: 'a' }] })).toThrow(
      /script\[0\]\.txet is not an option; did you mean "text"/,
    )
  })

  it('holds bytes back until a character is whole, and counts every token (BR-02)', async () => {
    const parts = [{ hex: '20 F0 9F' }, { bytes: [0x98, 0xb8] }, { hex: 'E4BD' }, { hex: 'A0' }]
    const { parts: said, result } = await run(await script({ parts }), chat('x'))
    expect(said.slice(1)).toEqual([
      { type: 'text', text: ' ' },
      { type: 'text', text: '😸' },
      { type: 'text', text: '你' },
    ])
    expect(result.usage.completionTokens).toBe(4)
  })

  it('refuses a text with half a character, for which bytes exist', () => {
    expect(() => planOf({ script: [{ text: ['\ud83d'] }] })).toThrow(/half a character/)
  })

  it('stops before a stop string that lies across tokens, and names it (BR-41)', async () => {
    const model = await script({ text: ['alpha', ' be', 'ta ga', 'mma delta'] })
    const { text, result } = await run(model, chat('x', { stop: ['beta gamma'] }))
    expect(text).toBe('alpha ')
    expect(result).toMatchObject({ finishReason: 'stop-sequence', stopSequence: 'beta gamma' })
    expect(result.usage.completionTokens).toBe(4)
  })

  it('releases at the end what might have become a stop string', async () => {
    const { text, result } = await run(await script({ text: ['a', ' STO'] }), chat('x', { stop: ['STOP'] }))
    expect(text).toBe('a STO')
    expect(result.finishReason).toBe('stop')
  })

  it('ends with length at the most tokens, and generates none for zero', async () => {
    const model = await script({ text: 'one two three' })
    const cut = await run(model, chat('x', { maxTokens: 2 }))
    expect(cut.text).toBe('one two')
    expect(cut.result).toMatchObject({ finishReason: 'length', usage: { completionTokens: 2 } })
    const none = await run(model, chat('x', { maxTokens: 0 }))
    expect(none.parts).toHaveLength(1)
    expect(none.result).toMatchObject({ finishReason: 'length', usage: { completionTokens: 0 } })
  })

  it('gives as many alternatives per token as were asked for, none for zero', async () => {
    const model = await script({ text: ['a', 'b'], logprobs: [-0.5] })
    const { parts } = await run(model, chat('x', { topLogprobs: 2 }))
    expect(parts[1]).toEqual({
      type: 'text',
      text: 'a',
      logprobs: [
        {
          text: 'a',
          bytes: [97],
          logprob: -0.5,
          top: [
            { text: 'a', bytes: [97], logprob: -0.5 },
            { text: 'alternative-1', bytes: [...Buffer.from('alternative-1')], logprob: -1.5 },
          ],
        },
      ],
    })
    const bare = await run(model, chat('x', { topLogprobs: 0 }))
    expect(bare.parts[1]).toMatchObject({ logprobs: [{ text: 'a', top: [] }] })
  })

  it('hands on the log-probabilities of held-back tokens with the text that they become', async () => {
    const model = await script({ parts: [{ hex: 'F09F' }, { hex: '98B8' }] })
    const { parts } = await run(model, chat('x', { topLogprobs: 0 }))
    expect(parts[1]).toMatchObject({
      text: '😸',
      logprobs: [{ bytes: [0xf0, 0x9f] }, { bytes: [0x98, 0xb8] }],
    })
  })

  it('plays reasoning, text and calls in any order (BR-42)', async () => {
    const toolCall = { name: 'look', arguments: ['{"a"', ':1}'], id: 'c' }
    const parts = [{ reasoning: 'hm' }, 'text', { toolCall }, { reasoning: 'so' }, { toolCall }]
    const { parts: said, result } = await run(await script({ parts }), chat('x'))
    expect(said.map((part) => part.type).slice(1)).toEqual([
      'reasoning',
      'text',
      'tool-call',
      'tool-call-arguments',
      'tool-call-arguments',
      'reasoning',
      'tool-call',
      'tool-call-arguments',
      'tool-call-arguments',
    ])
    expect(said.filter((part) => part.type === 'tool-call').map((part) => part.index)).toEqual([0, 1])
    expect(result.usage).toMatchObject({ completionTokens: 9, reasoningTokens: 2 })
  })

  it('leaves reasoning and calls out where the task does not want them', async () => {
    const model = await script({ reasoning: 'hm', text: 'hi', toolCalls: [{ name: 'a' }, { name: 'b' }] })
    const types = async (overrides: Partial<ChatTask>): Promise<string[]> =>
      (await run(model, chat('x', overrides))).parts.map((part) => part.type)
    expect(await types({ reasoning: { enabled: false } })).not.toContain('reasoning')
    expect(await types({ toolChoice: 'none' })).not.toContain('tool-call')
    const calls = (await types({ parallelToolCalls: false })).filter((type) => type === 'tool-call')
    expect(calls).toHaveLength(1)
  })

  it('gives calls without an id a new one each time (BR-03)', async () => {
    const model = await script({ toolCalls: [{ name: 'a' }, { name: 'a' }] })
    const ids = [...(await run(model, chat('x'))).parts, ...(await run(model, chat('x'))).parts]
      .filter((part) => part.type === 'tool-call')
      .map((part) => part.id)
    expect(new Set(ids).size).toBe(4)
  })

  it('throws the scripted error at its place (BR-09)', async () => {
    const model = await script({ text: ['a', 'b', 'c'], error: { at: 2, message: 'boom', retryAfter: 5000 } })
    const seen: string[] = []
    const stream = model.run(chat('x'), { slot: 0, keptPrefix: 0, signal: never() })
    const error = await failure(
      (async () => {
        for await (const part of stream) seen.push(part.type)
      })(),
    )
    expect(seen).toEqual(['started', 'text', 'text'])
    expect(error).toMatchObject({ code: 'engine_failed', message: 'boom', retryAfter: 5000 })
  })

  it('can fail before the first part too', async () => {
    const model = await script({ error: { at: 'prefill', message: 'no', code: 'insufficient_memory' } })
    const stream = model.run(chat('x'), { slot: 0, keptPrefix: 0, signal: never() })
    expect(await failure(stream.next())).toMatchObject({ code: 'insufficient_memory' })
  })

  it('replaces counted numbers where the script says so (BR-01)', async () => {
    const model = await script({ text: 'hi', usage: { promptTokens: 100, cachedTokens: 90 } })
    const { parts, result } = await run(model, chat('x'))
    expect(parts[0]).toEqual({ type: 'started', promptTokens: 100, cachedTokens: 90 })
    expect(result.usage).toEqual({
      promptTokens: 100,
      cachedTokens: 90,
      completionTokens: 1,
      reasoningTokens: 0,
    })
  })

  it('repeats a text for long answers', async () => {
    const { result } = await run(await script({ text: ['a', 'b'], repeat: 250 }), chat('x'))
    expect(result.usage.completionTokens).toBe(500)
  })

  it('comes from a YAML or JSON file as well, relative to nothing but its path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'script-'))
    await writeFile(join(folder, 's.yaml'), '- match: hi\n  text: [from, a file]\n')
    await writeFile(join(folder, 's.json'), '[{"text": "json"}]')
    expect((await run(await load({ script: join(folder, 's.yaml') }), chat('hi'))).text).toBe('froma file')
    expect((await run(await load({ script: join(folder, 's.json') }), chat('hi'))).text).toBe('json')
    expect(await failure(load({ script: join(folder, 'none.yaml') }))).toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'bad_option' },
    })
    await rm(folder, { recursive: true })
  })
})

describe('waiting', () => {
  it('waits before the prompt, the first token and each token, on the clock it was given', async () => {
    const clock = new ManualClock()
    const model = await load(
      { script: [{ text: ['a', 'b'], prefill: 100, firstDelay: 50, delay: 10 }] },
      clock,
    )
    const times: number[] = []
    const stream = model.run(chat('x'), { slot: 0, keptPrefix: 0, signal: never() })
    const reading = (async () => {
      for await (const part of stream) times.push(part.type === 'started' ? clock.now() : clock.now())
    })()
    for (let time = 0; time < 200; time++) {
      await settle()
      clock.advance(1)
    }
    await reading
    expect(times).toEqual([100, 150, 160])
    expect(model.lastProgress).toBe(160)
  })

  it.each(['prefill', 'delay', 'hangAt'])(
    'ends with the signal’s own reason while it waits: %s',
    async (kind) => {
      const entry = { text: ['a', 'b'], prefill: 0, delay: 0, [kind]: 1000 }
      const scripted = kind === 'hangAt' ? { ...entry, hangAt: 1 } : entry
      const model = await load({ script: [scripted] })
      const controller = new AbortController()
      const reason = new Error('gone')
      const running = failure(run(model, chat('x'), { signal: controller.signal }))
      await settle()
      controller.abort(reason)
      expect(await running).toBe(reason)
      await failure(run(model, chat('x'), { signal: AbortSignal.abort(reason) }))
      expect(await model.countTokens(chat('x'))).toBeGreaterThan(0)
    },
  )

  it('ends between tokens that need no waiting, too', async () => {
    const controller = new AbortController()
    const model = await script({ text: ['a', 'b', 'c'] })
    const stream = model.run(chat('x'), { slot: 0, keptPrefix: 0, signal: controller.signal })
    await stream.next()
    await stream.next()
    controller.abort(new Error('gone'))
    expect((await failure(stream.next())).message).toBe('gone')
    expect((await run(model, chat('x'))).text).toBe('abc')
  })
})

describe('the context', () => {
  it('refuses a prompt that leaves no room, with both numbers (BR-07)', async () => {
    const plan = planOf({}, { context: 6 })
    const model = await new ScriptedEngine().load(plan, { signal: never(), onProgress: () => undefined })
    expect((await run(model, chat('a'))).result.finishReason).toBe('stop')
    expect((await run(model, chat('a b'))).result.finishReason).toBe('length')
    expect(await failure(run(model, chat('a b c')))).toMatchObject({
      code: 'context_length_exceeded',
      details: { promptTokens: 6, contextSize: 6 },
    })
    expect(await model.countTokens(chat('a b c'))).toBe(6)
  })

  it('takes no text of a user for a mark of the format (P15)', async () => {
    const model = await load({})
    const tricky = chat([{ role: 'user', content: '1 4 2' }])
    expect(await model.countTokens(tricky)).toBe(6)
    await run(model, chat([{ role: 'user', content: 'a' }]))
    const { result } = await run(model, chat([{ role: 'user', content: 'a 4 2' }]), { keptPrefix: 1 })
    expect(result.usage.cachedTokens).toBe(2)
  })

  const first: Message[] = [{ role: 'user', content: 'my secret is blue' }]

  it('uses a kept beginning again, the answer included, and never all of a prompt', async () => {
    const model = await script({ text: 'I see.' })
    const turn = await run(model, chat(first))
    const next = chat([...first, { role: 'assistant', content: 'I see.' }, { role: 'user', content: 'and?' }])
    const { result } = await run(model, next, { keptPrefix: 1 })
    expect(result.usage.cachedTokens).toBe(turn.result.usage.promptTokens + 3)
    const again = await run(model, next, { keptPrefix: 1 })
    expect(again.result.usage.cachedTokens).toBe(again.result.usage.promptTokens - 1)
  })

  it('clears the slot where no prefix is kept', async () => {
    const model = await script({ match: 'secret', text: 'ok' }, { echo: 'slot' })
    await run(model, chat(first))
    const { text, result } = await run(model, chat('tell me'))
    expect(text).toBe('')
    expect(result.usage.cachedTokens).toBe(0)
  })

  it('betrays what a slot still held where a prefix is kept that is not this conversation’s (F1)', async () => {
    const model = await script({ match: 'secret', text: 'ok' }, { echo: 'slot' })
    await run(model, chat(first))
    expect((await run(model, chat('tell me'), { keptPrefix: 1 })).text).toBe('my secret is blue ok')
  })

  it('keeps slots apart', async () => {
    const model = await script({ match: 'secret', text: 'ok' }, { echo: 'slot' })
    await run(model, chat(first), { slot: 1 })
    expect((await run(model, chat('tell me'), { slot: 0, keptPrefix: 1 })).text).toBe('')
  })

  it('goes to a file and back into another slot, of the same plan only', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'slot-'))
    const file = join(folder, 'context')
    const model = await script({ text: 'ok' })
    await run(model, chat(first))
    const saved = await model.saveSlot?.(0, file)
    expect(saved?.tokens).toBeGreaterThan(4)
    expect(await model.restoreSlot?.(1, file)).toBe(true)
    const { result } = await run(model, chat(first), { slot: 1, keptPrefix: 1 })
    expect(result.usage.cachedTokens).toBe(result.usage.promptTokens - 1)
    expect(await (await script({ text: 'other' })).restoreSlot?.(0, file)).toBe(false)
    await writeFile(file, 'junk')
    expect(await model.restoreSlot?.(1, file)).toBe(false)
    await rm(folder, { recursive: true })
  })

  it('notices two runs on one slot, which would be the pool’s fault', async () => {
    const model = await script({ text: ['a', 'b'] })
    const stream = model.run(chat('x'), { slot: 0, keptPrefix: 0, signal: never() })
    await stream.next()
    expect(await failure(run(model, chat('x')))).toMatchObject({ code: 'internal' })
    await stream.return({} as Result)
    expect((await run(model, chat('x'))).text).toBe('ab')
  })
})

describe('completions and embeddings', () => {
  const completion = (
    prompt: string | number[],
    overrides: Partial<CompletionTask> = {},
  ): CompletionTask => ({
    kind: 'completion',
    prompt,
    sampling: {},
    stop: [],
    ...overrides,
  })

  it('finds the entry of a completion by its prompt, and sends the prompt back on request', async () => {
    const model = await script({ match: '^Once', text: [' upon'] }, { match: '^1 2$', text: ['!'] })
    expect((await run(model, completion('Once'))).text).toBe(' upon')
    expect((await run(model, completion('Once', { echo: true }))).text).toBe('Once upon')
    expect((await run(model, completion([1, 2]))).text).toBe('!')
  })

  it('refuses token ids that the model does not have (BR-33)', async () => {
    const model = await load({ vocabularySize: 10 })
    expect(await failure(run(model, completion([3, 10])))).toMatchObject({
      code: 'invalid_request',
      details: { param: 'prompt' },
    })
  })

  const embedding = (...inputs: EmbeddingTask['inputs']): EmbeddingTask => ({ kind: 'embedding', inputs })
  const vectors = async (model: LoadedModel, task: EmbeddingTask): Promise<Float32Array[]> =>
    (await run(model, task)).parts.flatMap((part) => (part.type === 'vector' ? [part.vector] : []))
  const norm = (vector: Float32Array | undefined): number => Math.hypot(...(vector ?? []))

  it('gives each text its own vector of length 1, alone or in a batch (BR-34)', async () => {
    const model = await load({ dimensions: 16 })
    const [a, b, again] = await vectors(model, embedding('one', 'two', 'one'))
    const [alone] = await vectors(model, embedding('one'))
    expect(a).toEqual(again)
    expect(a).toEqual(alone)
    expect(a).not.toEqual(b)
    expect(norm(a)).toBeCloseTo(1, 5)
  })

  it('gives each image its own vector; images have no tokens', async () => {
    const model = await load({ dimensions: 16 })
    const images = [Uint8Array.of(1, 2), Uint8Array.of(2, 1), Uint8Array.of(1, 2)]
    const [a, b, again] = await vectors(model, embedding(...images))
    expect(a).toEqual(again)
    expect(a).not.toEqual(b)
    expect((await run(model, embedding('a b', ...images))).result.usage.promptTokens).toBe(2)
  })

  it('cuts vectors on request and makes them of length 1 again', async () => {
    const model = await load({ dimensions: 16 })
    const [short] = await vectors(model, { ...embedding('one'), dimensions: 4 })
    expect(short).toHaveLength(4)
    expect(norm(short)).toBeCloseTo(1, 5)
    expect(await failure(run(model, { ...embedding('one'), dimensions: 17 }))).toMatchObject({
      code: 'invalid_request',
      details: { param: 'dimensions' },
    })
  })

  it('counts the tokens of all inputs and names the one that is too long', async () => {
    const plan = planOf({}, { context: 4 })
    const model = await new ScriptedEngine().load(plan, { signal: never(), onProgress: () => undefined })
    const { result } = await run(model, embedding('a b', [1, 2, 3]))
    expect(result.usage).toEqual({
      promptTokens: 5,
      cachedTokens: 0,
      completionTokens: 0,
      reasoningTokens: 0,
    })
    expect(await failure(run(model, embedding('a', 'a b c d')))).toMatchObject({
      code: 'context_length_exceeded',
      details: { promptTokens: 4, contextSize: 4, param: 'input[1]' },
    })
  })

  it('takes vectors and errors from the script', async () => {
    const model = await script({ match: 'x', vector: [3, 4] }, { match: 'bad', error: { message: 'boom' } })
    const [first] = await vectors(model, embedding('x'))
    expect([...(first ?? [])].map((value) => Number(value.toFixed(3)))).toEqual([0.6, 0.8])
    expect(await failure(run(model, embedding('bad')))).toMatchObject({ message: 'boom' })
  })

  it('refuses kinds of tasks it was told not to do', async () => {
    const model = await load({ capabilities: { tasks: ['embedding'] } })
    expect(await failure(run(model, chat('x')))).toMatchObject({ code: 'unsupported' })
  })
})

describe('rerank tasks', () => {
  const rerank = (...documents: string[]): RerankTask => ({ kind: 'rerank', query: 'Red apples', documents })
  const scores = async (model: LoadedModel, task: RerankTask): Promise<number[]> =>
    (await run(model, task)).parts.flatMap((part) => (part.type === 'score' ? [part.score] : []))

  it('tell how many of the query’s words a document has, in order', async () => {
    expect(await scores(await load({}), rerank('red', 'green pears', 'apples, red!'))).toEqual([0.5, 0, 1])
  })

  it('take scores and errors from the script', async () => {
    const model = await script({ match: 'x', score: 0 }, { match: 'bad', error: { message: 'boom' } })
    expect(await scores(model, rerank('x red', 'red'))).toEqual([0, 0.5])
    expect(await failure(run(model, rerank('bad')))).toMatchObject({ message: 'boom' })
  })

  it('count both texts, and refuse a pair that does not fit by its place', async () => {
    const plan = planOf({}, { context: 4 })
    const model = await new ScriptedEngine().load(plan, { signal: never(), onProgress: () => undefined })
    expect(await model.countTokens(rerank('a', 'b'))).toBe(6)
    expect(await failure(run(model, rerank('a', 'a b')))).toMatchObject({
      code: 'context_length_exceeded',
      details: { promptTokens: 4, contextSize: 4, param: 'documents[1]' },
    })
    expect(await failure(run(model, { ...rerank('a'), query: 'more red apples than fit' }))).toMatchObject({
      code: 'context_length_exceeded',
      details: { contextSize: 4, param: 'query' },
    })
  })
})

describe('loading and leaving', () => {
  const clock = new ManualClock()
  let progress: string[] = []
  afterEach(() => {
    progress = []
  })
  const start = (options: Record<string, unknown>, signal = never()): Promise<LoadedModel> =>
    new ScriptedEngine({ clock }).load(planOf(options), {
      signal,
      onProgress: (step) => progress.push(step.stage === 'loading' ? `${step.fraction}` : step.stage),
    })

  it('takes its declared time and tells its progress', async () => {
    let loaded = false
    const loading = start({ loadTime: 400 }).then(() => (loaded = true))
    for (const expected of [false, false, false, false, true]) {
      await settle()
      expect(loaded).toBe(expected)
      clock.advance(100)
    }
    await loading
    expect(progress).toEqual(['starting', '0', '0.25', '0.5', '0.75', 'preparing'])
  })

  it('gives a load up on the signal', async () => {
    const controller = new AbortController()
    const loading = failure(start({ loadTime: 400 }, controller.signal))
    await settle()
    controller.abort(new Error('nobody waits'))
    expect(await loading).toMatchObject({ code: 'aborted' })
    expect(await failure(start({}, AbortSignal.abort()))).toMatchObject({ code: 'aborted' })
  })

  it('fails as often as it was told, then loads', async () => {
    const engine = new ScriptedEngine()
    const plan = planOf({ failLoad: { class: 'out_of_memory', message: 'no room', times: 2 } })
    const attempt = (): Promise<LoadedModel> =>
      engine.load(plan, { signal: never(), onProgress: () => undefined })
    for (let time = 0; time < 2; time++) {
      expect(await failure(attempt())).toMatchObject({
        code: 'model_load_failed',
        message: 'no room',
        details: { failure: 'out_of_memory' },
      })
    }
    expect((await attempt()).plan.model).toBe('fake')
  })

  it('declares its memory per domain and reports it', async () => {
    const options = { memory: { ram: '1GiB', 'gpu:0': 5 } }
    const plan = planOf(options)
    expect(plan.footprint).toEqual({
      ram: { weights: 1024 ** 3, context: 0, compute: 0, base: 0 },
      'gpu:0': { weights: 5, context: 0, compute: 0, base: 0 },
    })
    expect(plan.loadBytes).toBe(1024 ** 3 + 5)
    expect(await (await load(options)).memory()).toEqual({
      ram: { private: 1024 ** 3, shared: 0 },
      'gpu:0': { private: 5, shared: 0 },
    })
    expect(planOf({ memory: '2MiB' }).loadBytes).toBe(2 * 1024 ** 2)
  })

  it('has one plan key for one load, another for another', () => {
    const key = planOf({ memory: 5 }).key
    expect(planOf({ memory: 5 }).key).toBe(key)
    expect(planOf({ memory: '5' }).key).toBe(key)
    expect(planOf({ memory: 6 }).key).not.toBe(key)
    expect(planOf({ memory: 5 }, { context: 77 }).key).not.toBe(key)
    expect(planOf({ memory: 5 }, { slots: 3 }).key).not.toBe(key)
  })

  it('plans the same from options that were read before', () => {
    const plan = planOf({ memory: '1GiB', script: [{ match: 'a', text: ['b'] }] })
    const once = new ScriptedEngine().plan(plan.spec, plan.facts)
    expect(once).toEqual(plan)
  })

  it('ends a waiting run when it is unloaded, and rejects every later call', async () => {
    const model = await load({ script: [{ text: 'a', hangAt: 0 }] })
    const running = failure(run(model, chat('x')))
    await settle()
    await Promise.all([model.unload(), model.unload()])
    expect(await running).toMatchObject({ code: 'run_cut' })
    expect(await model.exited).toMatchObject({ expected: true })
    for (const call of [
      run(model, chat('x')),
      model.countTokens(chat('x')),
      model.memory(),
      model.ping(),
      model.warmUp(never()),
      model.saveSlot?.(0, '/nowhere'),
    ]) {
      expect(await failure(Promise.resolve(call))).toMatchObject({ code: 'worker_exited' })
    }
  })

  it('crashes in mid-answer: the model is gone, the exit was not expected', async () => {
    const model = await script({ text: ['a', 'b'], exitAt: 1 })
    expect(await failure(run(model, chat('x')))).toMatchObject({ code: 'worker_exited' })
    expect(await model.exited).toMatchObject({
      expected: false,
      reason: expect.stringContaining('crash') as string,
    })
  })

  it('ends its process where it has one', async () => {
    let crashed = 0
    const engine = new ScriptedEngine({ crash: () => crashed++ })
    const plan = planOf({ script: [{ exitAt: 'prefill' }] })
    const model = await engine.load(plan, { signal: never(), onProgress: () => undefined })
    const controller = new AbortController()
    const running = failure(run(model, chat('x'), { signal: controller.signal }))
    await settle()
    expect(crashed).toBe(1)
    controller.abort()
    await running
  })
})
