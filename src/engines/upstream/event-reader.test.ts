import { array, assert, constantFrom, dictionary, letrec, oneof, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
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

/** Read whole; how it ended. */
function outcomeOf(...chunks: unknown[]): string {
  try {
    const { parts } = readIn(
      Buffer.from(chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')),
      1e6,
    )
    return parts.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ')
  } catch (error) {
    return error instanceof ModelyardError ? `${error.code}: ${error.message}` : `${String(error)}!`
  }
}

describe('an upstream that does not speak as it should', () => {
  it.each([
    [{ choices: [{ delta: null, finish_reason: 'stop' }] }, 'started'],
    [{ choices: null }, ''],
    [{ choices: [], error: null }, ''],
    [{ choices: [{ delta: { content: null, tool_calls: null }, finish_reason: null }] }, ''],
    [chunk({ tool_calls: [{ function: null }] }), ''],
  ])('sends %j, which is nothing to speak of', (one, said) => {
    expect(outcomeOf(one)).toBe(said)
  })

  it('writes arguments as an object: they are the same as JSON', () => {
    const call = chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: { a: 1 } } }] })
    const { parts } = readIn(streamOf([call], false), 1e6)
    expect(parts.at(-1)).toEqual({ type: 'tool-call-arguments', index: 0, text: '{"a":1}' })
  })

  it.each([
    { choices: [null] },
    { choices: {}, object: 'x', error: 'no memory' },
    chunk({ content: 5 }),
    chunk({ content: ['a'] }),
    chunk({ reasoning: true }),
    chunk({ tool_calls: {} }),
    chunk({ tool_calls: [null] }),
    chunk({ tool_calls: [{ function: { name: 'f', arguments: 5 } }] }),
    chunk({ content: 'a' }, { logprobs: { content: [null] } }),
    5,
  ])('sends %j: the run is an error of the upstream, not of this server', (one) => {
    expect(outcomeOf(one)).toMatch(/^engine_failed: /)
  })

  it.each(['abort', 'error'])(
    'ends with finish_reason %j, as a server that is stopped does: no answer is complete (R12)',
    (finish) => {
      expect(outcomeOf(chunk({ content: 'half' }), chunk({}, { finish_reason: finish }))).toMatch(
        /^engine_failed: .*finish_reason/,
      )
    },
  )

  it('counts in words, below zero or in halves: what is no count is none', () => {
    const answer = new WireAnswer()
    answer.read({ choices: [], usage: { prompt_tokens: '9', completion_tokens: -1 } })
    answer.read({
      usage: { prompt_tokens: 2.5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: null } },
    })
    expect(answer.result(TIMINGS).usage).toMatchObject({
      promptTokens: 0,
      completionTokens: 3,
      cachedTokens: 0,
    })
  })

  it('sends any JSON at all: there are parts, or there is an error of the upstream', () => {
    const keys = constantFrom(
      'choices',
      'delta',
      'content',
      'tool_calls',
      'function',
      'name',
      'arguments',
      'usage',
      'logprobs',
      'error',
      'finish_reason',
    )
    const { tree } = letrec((tie) => ({
      tree: oneof(
        { maxDepth: 6 },
        constantFrom(null, 0, 'x', true),
        array(tie('tree'), { maxLength: 2 }),
        dictionary(keys, tie('tree'), { maxKeys: 4 }),
      ),
    }))
    assert(
      property(array(tree, { maxLength: 3 }), (chunks) => {
        expect(outcomeOf(...chunks)).not.toMatch(/!$/)
      }),
      { numRuns: 2000 },
    )
  })
})
