import { describe, expect, it } from 'vitest'
import type { Part } from '../../tasks/part.ts'
import { EventReader } from './event-reader.ts'
import { WireAnswer, type WireChunk } from './wire-answer.ts'

const TIMINGS = { prefill: 1, decode: 2 }

function chunk(delta: object, more: object = {}): object {
  return { id: 'x', created: 1, choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }] }
}

const TEXTS = ['The', ' quick', '', ' "fox"', '\n', ' jumps', ' é😀', ' \\', '.']
const CHUNKS: object[] = [
  chunk({ role: 'assistant', content: '' }),
  ...TEXTS.map((text) => chunk({ reasoning_content: text })),
  ...TEXTS.map((content) => chunk({ content })),
  { ...chunk({ content: ' later' }), created: 2 },
  { ...chunk({ content: ' still' }), created: 2 },
  chunk({ content: ' sure' }, { logprobs: { content: [{ token: ' sure', logprob: -1 }] } }),
  chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a"' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
  chunk({}, { finish_reason: 'tool_calls' }),
  { choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } },
]

function streamOf(chunks: readonly object[], spaced: boolean): Buffer {
  const lines = chunks.map((one) =>
    spaced ? JSON.stringify(one, null, 1).replaceAll('\n', ' ') : JSON.stringify(one),
  )
  return Buffer.from([...lines, '[DONE]'].map((data) => `data: ${data}\n\n`).join(''))
}

function readIn(stream: Buffer, size: number): { parts: Part[]; answer: WireAnswer; isDone: boolean } {
  const answer = new WireAnswer()
  const events = new EventReader(answer)
  const parts: Part[] = []
  for (let at = 0; at < stream.length; at += size) events.read(stream.subarray(at, at + size), parts)
  return { parts, answer, isDone: events.isDone }
}

describe('a stream of events', () => {
  it.each([
    [1, false],
    [7, true],
    [1000, false],
    [100_000, true],
  ])('says the same as if each event were parsed, in pieces of %i bytes, spaced: %s', (size, spaced) => {
    const parsed = new WireAnswer()
    const expected = CHUNKS.flatMap((one) => parsed.read(one as WireChunk))
    const { parts, answer, isDone } = readIn(streamOf(CHUNKS, spaced), size)
    expect(parts).toEqual(expected)
    expect([isDone, answer.result(TIMINGS)]).toEqual([true, parsed.result(TIMINGS)])
  })

  it('is told of what is no JSON in its place: what came before it stands', () => {
    const parts: Part[] = []
    const events = new EventReader(new WireAnswer())
    const stream = Buffer.from(`data: ${JSON.stringify(chunk({ content: 'a' }))}\n\ndata: no\n\n`)
    expect(() => events.read(stream, parts)).toThrow('no JSON object')
    expect(parts.at(-1)).toEqual({ type: 'text', text: 'a' })
  })
})
