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

  it('throws an error that is told inside the stream', () => {
    expect(() => new WireAnswer().read({ error: { message: 'out of memory' } })).toThrow(
      'The upstream ended its answer with an error: out of memory',
    )
  })
})
