import { describe, expect, it } from 'vitest'
import { WireAnswer, type WireChunk } from './wire-answer.ts'

const TIMINGS = { prefill: 1, decode: 2 }

function delta(content: object, finish: string | null = null): WireChunk {
  return { choices: [{ delta: content, finish_reason: finish }] }
}

describe('the answer of an upstream', () => {
  it('begins with its first word, not with the chunk that only names the role', () => {
    const answer = new WireAnswer()
    expect(answer.read(delta({ role: 'assistant', content: '' }))).toEqual([])
    expect(answer.read(delta({ content: 'Hel' }))).toEqual([
      { type: 'started', promptTokens: 0, cachedTokens: 0 },
      { type: 'text', text: 'Hel' },
    ])
    expect(answer.read(delta({ content: 'lo' }))).toEqual([{ type: 'text', text: 'lo' }])
  })

  it('is complete only with its finish reason (R12), and counts what the last chunk says', () => {
    const answer = new WireAnswer()
    answer.read(delta({ content: 'a' }))
    expect(answer.complete).toBe(false)
    answer.read(delta({}, 'length'))
    expect(answer.complete).toBe(true)
    answer.read({
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 4 } },
    })
    expect(answer.result(TIMINGS)).toEqual({
      finishReason: 'length',
      usage: { promptTokens: 9, cachedTokens: 4, completionTokens: 0, reasoningTokens: 0 },
      timings: TIMINGS,
    })
  })

  it('has unknown counts where the endpoint gives none', () => {
    const answer = new WireAnswer()
    answer.read(delta({ content: 'a' }, 'stop'))
    expect(answer.result(TIMINGS).usage.unknown).toBe(true)
  })

  it('begins also when it is empty', () => {
    expect(new WireAnswer().read(delta({}, 'stop'))).toEqual([
      { type: 'started', promptTokens: 0, cachedTokens: 0 },
    ])
  })

  it.each(['reasoning_content', 'reasoning'])('keeps %s apart from the text', (field) => {
    expect(new WireAnswer().read(delta({ [field]: 'hm', content: '' })).slice(1)).toEqual([
      { type: 'reasoning', text: 'hm' },
    ])
  })

  it('tells each tool call once, then its arguments as they come; without an id one is made', () => {
    const answer = new WireAnswer()
    const first = answer.read(
      delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '' } }] }),
    )
    expect(first.slice(1)).toEqual([{ type: 'tool-call', index: 0, id: 'c', name: 'f' }])
    expect(
      answer.read(delta({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] })),
    ).toEqual([{ type: 'tool-call-arguments', index: 0, text: '{}' }])
    expect(answer.read(delta({ tool_calls: [{ index: 1, function: { name: 'g' } }] }))).toEqual([
      { type: 'tool-call', index: 1, id: 'call_1', name: 'g' },
    ])
    answer.read(delta({}, 'tool_calls'))
    expect(answer.result(TIMINGS).finishReason).toBe('tool-calls')
  })

  it('has log-probabilities, with the bytes of the token where none are given', () => {
    const content = [{ token: 'é', logprob: -0.5, top_logprobs: [{ token: 'e', bytes: [101], logprob: -1 }] }]
    const chunk: WireChunk = { choices: [{ delta: { content: 'é' }, logprobs: { content } }] }
    expect(new WireAnswer().read(chunk)[1]).toEqual({
      type: 'text',
      text: 'é',
      logprobs: [
        { text: 'é', bytes: [195, 169], logprob: -0.5, top: [{ text: 'e', bytes: [101], logprob: -1 }] },
      ],
    })
  })

  it('keeps two calls apart where an endpoint numbers none, and their arguments together', () => {
    const answer = new WireAnswer()
    const parts = [
      { id: 'a', function: { name: 'f', arguments: '{"x"' } },
      { function: { arguments: ':1}' } },
      { id: 'b', function: { name: 'g', arguments: '{}' } },
    ].flatMap((call) => answer.read(delta({ tool_calls: [call] })))
    expect(parts.slice(1)).toEqual([
      { type: 'tool-call', index: 0, id: 'a', name: 'f' },
      { type: 'tool-call-arguments', index: 0, text: '{"x"' },
      { type: 'tool-call-arguments', index: 0, text: ':1}' },
      { type: 'tool-call', index: 1, id: 'b', name: 'g' },
      { type: 'tool-call-arguments', index: 1, text: '{}' },
    ])
  })

  it.each([4_000_000_000, -7, '0', 1.5])(
    'gives a call that an endpoint numbers %s the place where it stands',
    (index) => {
      const call = { index, id: 'c', function: { name: 'f', arguments: '{}' } }
      expect(new WireAnswer().read(delta({ tool_calls: [call] })).slice(1)).toEqual([
        { type: 'tool-call', index: 0, id: 'c', name: 'f' },
        { type: 'tool-call-arguments', index: 0, text: '{}' },
      ])
    },
  )

  it('loses no arguments that come before the name, and takes no call that never gets one', () => {
    const answer = new WireAnswer()
    expect(
      answer.read(delta({ tool_calls: [{ index: 0, function: { name: null, arguments: '{"a":' } }] })),
    ).toEqual([])
    answer.read(delta({}, 'tool_calls'))
    expect(() => answer.result(TIMINGS)).toThrow('a tool call without a name')
    const late = answer.read(
      delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '1}' } }] }),
    )
    expect(late).toContainEqual({ type: 'tool-call-arguments', index: 0, text: '{"a":1}' })
    expect(answer.result(TIMINGS).finishReason).toBe('tool-calls')
  })

  it('ends with calls where there are some, though the endpoint says stop', () => {
    const answer = new WireAnswer()
    answer.read(delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f' } }] }, 'stop'))
    expect(answer.result(TIMINGS).finishReason).toBe('tool-calls')
  })

  it('is the first choice alone when others come with it, together or in turn', () => {
    const answer = new WireAnswer()
    const choice = (index: number, content: string) => ({ index, delta: { content } })
    const chunks = [[choice(1, 'B'), choice(0, 'A')], [choice(1, 'b')], [choice(0, 'a')]]
    const parts = chunks.flatMap((choices) => answer.read({ choices }))
    expect(parts.slice(1)).toEqual([
      { type: 'text', text: 'A' },
      { type: 'text', text: 'a' },
    ])
    answer.read({ choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] })
    expect(answer.complete).toBe(false)
  })

  it('is not complete with an empty finish reason (R12), and knows no names that objects have', () => {
    const answer = new WireAnswer()
    answer.read(delta({ content: 'half' }, ''))
    expect(answer.complete).toBe(false)
    answer.read(delta({}, 'constructor'))
    expect(answer.result(TIMINGS).finishReason).toBe('stop')
  })

  it('reads content that is a list of blocks, with what was thought apart', () => {
    const thinking = [{ type: 'text', text: 'hm' }]
    const content = [
      { type: 'thinking', thinking },
      { type: 'text', text: 'yes' },
      { type: 'reference', ids: [1] },
    ]
    expect(new WireAnswer().read(delta({ content })).slice(1)).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'yes' },
    ])
  })

  it('hears reasoning beside an empty field for it, and a refusal instead of an answer', () => {
    const answer = new WireAnswer()
    expect(answer.read(delta({ reasoning_content: '', reasoning: 'hm' })).slice(1)).toEqual([
      { type: 'reasoning', text: 'hm' },
    ])
    expect(answer.read(delta({ content: null, refusal: 'No.' }))).toEqual([{ type: 'text', text: 'No.' }])
  })

  it.each([{ prompt_tokens: null, completion_tokens: '7' }, 'none'])(
    'has unknown counts where usage is %j',
    (usage) => {
      const answer = new WireAnswer()
      answer.read({ ...delta({}, 'stop'), usage } as WireChunk)
      expect(answer.result(TIMINGS).usage.unknown).toBe(true)
    },
  )

  it('throws an error that vLLM tells as an event of its own', () => {
    expect(() => new WireAnswer().read({ object: 'error', message: 'too long' })).toThrow('too long')
  })

  it('throws an error that is told inside the stream', () => {
    expect(() => new WireAnswer().read({ error: { message: 'out of memory' } })).toThrow(
      'The upstream ended its answer with an error: out of memory',
    )
  })
})
