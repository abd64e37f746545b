import { describe, expect, it } from 'vitest'
import { AnswerCollector } from './answer-collector.ts'

describe('what is gathered of an answer', () => {
  it('does not grow with the number that an engine gives a call: the server stood still for four thousand million', () => {
    const answer = new AnswerCollector()
    answer.add({ type: 'tool-call', index: 4_000_000_000, id: 'c', name: 'f' })
    answer.add({ type: 'tool-call-arguments', index: 4_000_000_000, text: '{}' })
    answer.add({ type: 'tool-call-arguments', index: 3, text: 'of no call' })
    expect(answer.message().toolCalls).toEqual([{ id: 'c', name: 'f', arguments: '{}' }])
  })
})
