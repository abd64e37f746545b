import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { PromptLogprob, TokenLogprob } from '../../src/tasks/part.ts'
import type { Sampling } from '../../src/tasks/sampling.ts'
import { makeTinyModel, type TinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { ask, chat, completion, load, type Answer } from './fixtures.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))

const promptLogprobsOf = ({ parts }: Answer): PromptLogprob[] =>
  parts.flatMap((part) => (part.type === 'text' ? (part.promptLogprobs ?? []) : []))

describe('choosing tokens', () => {
  let model: LoadedModel
  let made: TinyModel
  beforeAll(async () => {
    made = makeTinyModel(`${folder}/noise.gguf`)
    model = await load(made.path, { defaults: {} })
  })
  afterAll(async () => model.unload())

  const sampled = async (sampling: Sampling, maxTokens = 24): Promise<string> => {
    const { text } = await ask(model, completion('user', { sampling, maxTokens }))
    return text
  }

  const letters = (): { x: number; y: number } => ({
    x: made.vocabulary.ids.get('x') as number,
    y: made.vocabulary.ids.get('y') as number,
  })

  it('the same seed gives the same text, another seed another, seed 0 counts', async () => {
    const hot: Sampling = { temperature: 1.5 }
    expect(await sampled({ ...hot, seed: 0 })).toBe(await sampled({ ...hot, seed: 0 }))
    expect(await sampled({ ...hot, seed: 0 })).not.toBe(await sampled({ ...hot, seed: 1 }))
  })

  it('without a seed two runs in one second differ', async () => {
    expect(await sampled({ temperature: 2 })).not.toBe(await sampled({ temperature: 2 }))
  })

  it('temperature 0 is greedy, and so are top-k 1 and top-p 0', async () => {
    const greedy = await sampled({ temperature: 0 })
    expect(await sampled({ temperature: 0, seed: 5 })).toBe(greedy)
    expect(await sampled({ temperature: 2, topK: 1, seed: 5 })).toBe(greedy)
    expect(await sampled({ temperature: 2, topP: 0, seed: 5 })).toBe(greedy)
    expect(await sampled({ temperature: 2, minP: 1, seed: 5 })).toBe(greedy)
  })

  it("the model's defaults hold where the request says nothing, zero included", async () => {
    const greedy = await load(made.path, { defaults: { temperature: 0, maxTokens: 7 } })
    const { text, result } = await ask(greedy, completion('user'))
    expect(text).toBe(await sampled({ temperature: 0 }, 7))
    expect(result.usage.completionTokens).toBe(7)
    await greedy.unload()
  })

  it('a bias forces a token or forbids it', async () => {
    const { x, y } = letters()
    expect(await sampled({ temperature: 0, logitBias: { [x]: 100, [y]: 80 } }, 5)).toBe('xxxxx')
    expect(await sampled({ temperature: 0, logitBias: { [x]: -100, [y]: 80 } }, 5)).toBe('yyyyy')
  })

  it('a bias works on the token that ends a turn, too', async () => {
    const end = made.vocabulary.ids.get('<|im_end|>') as number
    const { result, text } = await ask(
      model,
      completion('user', { sampling: { temperature: 0, logitBias: { [end]: 100 } } }),
    )
    expect([text, result.finishReason, result.usage.completionTokens]).toEqual(['', 'stop', 0])
  })

  it('a bias on a token that does not exist is refused, not passed on to native code', async () => {
    const wrong = ask(model, completion('user', { sampling: { logitBias: { 999_999: 1 } } }))
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request', details: { param: 'logit_bias' } })
  })

  /** How much likelier x is than y at each token of an answer of x only, as a logarithm. */
  const leads = async (prompt: string, penalties: Sampling): Promise<number[]> => {
    const { x, y } = letters()
    const sampling: Sampling = { temperature: 0, logitBias: { [x]: 60, [y]: 40 }, ...penalties }
    const { parts, text } = await ask(model, completion(prompt, { sampling, maxTokens: 3, topLogprobs: 2 }))
    expect(text).toBe('xxx')
    const tokens = parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
    return tokens.map(
      ({ logprob, top }) => logprob - (top.find((other) => other.text === 'y')?.logprob ?? Number.NaN),
    )
  }

  it('a presence penalty counts a token of the answer once, a frequency penalty each time', async () => {
    const free = await leads('xy', {})
    const present = await leads('xy', { presencePenalty: 2 })
    const frequent = await leads('xy', { frequencyPenalty: 1.5 })
    const lost = (penalized: number[]): number[] => free.map((lead, index) => lead - (penalized[index] ?? 0))
    for (const [index, expected] of [0, 2, 2].entries()) expect(lost(present)[index]).toBeCloseTo(expected, 2)
    for (const [index, expected] of [0, 1.5, 3].entries())
      expect(lost(frequent)[index]).toBeCloseTo(expected, 2)
  })

  it('a repeat penalty looks at the prompt as well, and 1 switches it off', async () => {
    const free = await leads('x', {})
    expect(await leads('x', { repeatPenalty: 1 })).toEqual(free)
    expect((await leads('x', { repeatPenalty: 1.2 }))[0]).toBeLessThan((free[0] ?? 0) - 5)
  })

  it('maxTokens 0 generates nothing and ends with length', async () => {
    const { parts, result } = await ask(model, completion('user', { maxTokens: 0 }))
    expect(parts.map(({ type }) => type)).toEqual(['started'])
    expect(result).toMatchObject({ finishReason: 'length', usage: { completionTokens: 0 } })
    expect(result.usage.promptTokens).toBeGreaterThan(0)
  })

  it('what was asked with maxTokens 0 is in the slot: a context that is written holds it, and who goes on reuses it', async () => {
    const text = 'one two three four five six seven eight nine ten '.repeat(3)
    const { result } = await ask(model, completion(text, { maxTokens: 0 }), { keptPrefix: 0 })
    const { promptTokens } = result.usage
    expect(await model.saveSlot?.(0, join(folder, 'unanswered.slot'))).toMatchObject({ tokens: promptTokens })
    const next = await ask(model, completion(text, { maxTokens: 1 }), { keptPrefix: 1 })
    expect(next.result.usage.cachedTokens).toBe(promptTokens - 1)
  })
})

describe('log-probabilities', () => {
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(TINY_CHAT)
  })
  afterAll(async () => model.unload())

  const logprobsOf = ({ parts }: Answer): TokenLogprob[] =>
    parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))

  it('come one for each token, with so many alternatives, the likeliest first', async () => {
    const plain = await ask(model, chat('hi'))
    const answer = await ask(model, chat('hi', { topLogprobs: 3 }))
    expect(answer.text).toBe(plain.text)
    expect(answer.result.usage).toEqual(plain.result.usage)
    const all = logprobsOf(answer)
    expect(all).toHaveLength(answer.result.usage.completionTokens)
    expect(all.map(({ text }) => text).join('')).toBe(answer.text)
    for (const { text, bytes, logprob, top } of all) {
      expect(Buffer.from(bytes).toString()).toBe(text)
      expect(top).toHaveLength(3)
      expect(top[0]).toMatchObject({ text, logprob })
      expect(top.map((other) => other.logprob)).toEqual(
        top.map((other) => other.logprob).toSorted((a, b) => b - a),
      )
      expect(logprob).toBeLessThanOrEqual(0)
      expect(Math.exp(logprob)).toBeGreaterThan(0.5)
    }
  })

  it('of a prompt are told token by token: as if each had been written there', async () => {
    const asked = completion('one two three four five', { maxTokens: 0, echo: true, topLogprobs: 2 })
    const back = await ask(model, asked)
    const told = promptLogprobsOf(back)
    expect(told.map(({ text }) => text).join('')).toBe('one two three four five')
    expect(back.result).toMatchObject({ finishReason: 'length', usage: { cachedTokens: 0 } })
    for (const [index, { logprob, top }] of told.entries()) {
      if (logprob === null) continue
      const beginning = told.slice(0, index).map(({ text }) => text)
      const next = await ask(model, completion(beginning.join(''), { maxTokens: 1, topLogprobs: 2 }))
      const [likeliest] = logprobsOf(next)
      expect(top.map(({ text }) => text)).toEqual(likeliest?.top.map(({ text }) => text))
      expect(top[0]?.logprob).toBeCloseTo(likeliest?.top[0]?.logprob ?? 0, 2)
      expect(logprob).toBeLessThanOrEqual(top[0]?.logprob ?? 0)
    }
  })

  it('0 alternatives tell the chosen token only', async () => {
    const all = logprobsOf(await ask(model, chat('hi', { topLogprobs: 0 })))
    expect(all.length).toBeGreaterThan(0)
    expect(all.every(({ top }) => top.length === 0)).toBe(true)
  })

  it('are those of the model, not of what temperature and filters left over', async () => {
    const greedy = logprobsOf(await ask(model, chat('hi', { topLogprobs: 5, maxTokens: 1 })))
    const sampling: Sampling = { temperature: 0.3, topK: 2, topP: 0.5, seed: 1 }
    const cool = logprobsOf(await ask(model, chat('hi', { topLogprobs: 5, maxTokens: 1, sampling })))
    expect(cool[0]?.top).toEqual(greedy[0]?.top)
  })

  it('leave the choice to the seed at a temperature', async () => {
    const hot = async (seed: number): Promise<string> => {
      const sampling: Sampling = { temperature: 3, topK: 0, topP: 1, minP: 0, seed }
      return (await ask(model, chat('hi', { topLogprobs: 0, maxTokens: 12, sampling }))).text
    }
    expect(await hot(4)).toBe(await hot(4))
    expect(await hot(4)).not.toBe(await hot(5))
  })
})

describe('stop strings', () => {
  let model: LoadedModel
  beforeAll(async () => {
    const pieces = ['alpha', ' be', 'ta ga', 'mma delta', ' omega']
    const { path } = makeTinyModel(`${folder}/stops.gguf`, { chains: [{ after: '\n', pieces }] })
    model = await load(path)
  })
  afterAll(async () => model.unload())

  it.each<[string[], string, string | undefined]>([
    [['beta gamma'], 'alpha ', 'beta gamma'],
    [['beta gamma delta!', 'omega'], 'alpha beta gamma delta ', 'omega'],
    [['beta', 'beta gamma'], 'alpha ', 'beta'],
    [['alpha'], '', 'alpha'],
    [['zeta', 'omega!'], 'alpha beta gamma delta omega', undefined],
  ])('BR-41: %j over token borders', async (stop, text, stopSequence) => {
    const answer = await ask(model, chat('go', { stop }))
    expect(answer.text).toBe(text)
    expect(answer.result.stopSequence).toBe(stopSequence)
    expect(answer.result.finishReason).toBe(stopSequence === undefined ? 'stop' : 'stop-sequence')
  })

  it('count the tokens that made them', async () => {
    const { result } = await ask(model, chat('go', { stop: ['beta gamma'] }))
    expect(result.usage.completionTokens).toBe(4)
  })
})

describe('characters of several tokens', () => {
  const family = Buffer.from('👩‍👩‍👧', 'utf8')
  const asTokens = async (pieces: (string | number)[], end?: string): Promise<LoadedModel> => {
    const { path } = makeTinyModel(`${folder}/bytes-${pieces.length}.gguf`, {
      chains: [{ after: '\n', pieces, ...(end !== undefined && { end }) }],
    })
    return load(path)
  }

  it('BR-02: are shown whole', async () => {
    const model = await asTokens(['Hi', ' ', 0xf0, 0x9f, 0x98, 0xb8, ' bye'])
    const { parts, text, result } = await ask(model, chat('go'))
    expect(text).toBe('Hi 😸 bye')
    expect(parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))).toEqual([
      'Hi',
      ' ',
      '😸',
      ' bye',
    ])
    expect(result.usage.completionTokens).toBe(7)
    await model.unload()
  })

  it('BR-02: a character cut off by maxTokens is dropped, never half shown', async () => {
    const model = await asTokens(['Hello', 0xe4, 0xbd, 0xa0])
    const { text, result } = await ask(model, chat('go', { maxTokens: 3 }))
    expect([text, result.finishReason, result.usage.completionTokens]).toEqual(['Hello', 'length', 3])
    expect((await ask(model, chat('go'))).text).toBe('Hello你')
    await model.unload()
  })

  it('BR-02: bytes that are no character are replaced, never an exception', async () => {
    const model = await asTokens(['Hello', 0xff, ' bye'])
    expect((await ask(model, chat('go'))).text).toBe('Hello\uFFFD bye')
    await model.unload()
  })

  it('tell their bytes one by one in log-probabilities', async () => {
    const model = await asTokens([...family.subarray(0, 4), ' done'])
    const { parts } = await ask(model, chat('go', { topLogprobs: 0 }))
    const bytes = parts
      .flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
      .map((entry) => entry.bytes)
    expect(bytes.slice(0, 4)).toEqual([...family.subarray(0, 4)].map((byte) => [byte]))
    await model.unload()
  })

  it('come right from a SentencePiece vocabulary', async () => {
    const pieces = ['Hi', ' there', 0xf0, 0x9f, 0x98, 0xb9, '!']
    const { path } = makeTinyModel(`${folder}/spm.gguf`, {
      chains: [{ after: '\n', pieces }],
      tokenizer: 'spm',
    })
    const model = await load(path)
    expect((await ask(model, chat('go'))).text).toBe('Hi there😹!')
    await model.unload()
  })
})

describe('prompts for completion', () => {
  let model: LoadedModel
  let made: TinyModel
  beforeAll(async () => {
    made = makeTinyModel(`${folder}/plain.gguf`, { tokenizer: 'spm' })
    model = await load(made.path)
  })
  afterAll(async () => model.unload())
  const ids = (text: string): number[] =>
    Array.from(text, (character) => made.vocabulary.ids.get(character) as number)

  it('as token ids give what the same text gives', async () => {
    const bos = made.vocabulary.ids.get('<s>') as number
    const asText = await ask(model, completion('abc', { maxTokens: 8 }))
    const asIds = await ask(model, completion([bos, ...ids('abc')], { maxTokens: 8 }))
    expect(asIds.text).toBe(asText.text)
    expect(asText.result.usage.promptTokens).toBe(4)
    expect((await ask(model, completion(ids('abc'), { maxTokens: 1 }))).result.usage.promptTokens).toBe(3)
  })

  it.each([[[999_999]], [[-1]], [[1.5]]])('refuse ids that do not exist: %j', async (prompt) => {
    await expect(ask(model, completion(prompt))).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'prompt' },
    })
  })

  it('are sent back when asked for, before the first token', async () => {
    const { parts } = await ask(model, completion('abc', { maxTokens: 2, echo: true }))
    expect(parts.slice(0, 2)).toMatchObject([{ type: 'started' }, { type: 'text', text: 'abc' }])
    const back = await ask(model, completion(ids('abc'), { maxTokens: 0, echo: true }))
    expect([back.text, back.result.finishReason]).toEqual(['abc', 'length'])
  })

  it('are told how likely they were, and the slot holds what it says it holds', async () => {
    // Without a token that begins every prompt, nothing stands before the first.
    const bare = await ask(model, completion(ids('abc'), { maxTokens: 1, echo: true, topLogprobs: 0 }))
    const [first, second] = promptLogprobsOf(bare)
    expect([first?.logprob, typeof second?.logprob]).toEqual([null, 'number'])
    // The slot holds what it says it holds: the next run goes on from there, and writes the same.
    const cold = await ask(model, completion('abc', { maxTokens: 6 }))
    await ask(model, completion('abc', { maxTokens: 1, echo: true, topLogprobs: 0 }))
    const after = await ask(model, completion('abc', { maxTokens: 6 }), { keptPrefix: 1 })
    expect(after.text).toBe(cold.text)
    expect(after.result.usage.cachedTokens).toBe(3)
  })

  it('may be empty: the model begins by itself', async () => {
    const { result } = await ask(model, completion('', { maxTokens: 3 }))
    expect(result.usage).toMatchObject({ promptTokens: 1, completionTokens: 3 })
    expect((await ask(model, completion([], { maxTokens: 1 }))).result.usage.promptTokens).toBe(1)
  })

  it('fill a gap where the model has the tokens for it', async () => {
    const { result } = await ask(model, completion('ab', { suffix: 'cd', maxTokens: 2 }))
    // beginning, prefix, 2, suffix, 2, middle
    expect(result.usage.promptTokens).toBe(8)
    const hostile = await model.countTokens(completion('<|im_end|>', { suffix: '' }))
    expect(hostile).toBeGreaterThan(8)
  })
})
