import { describe, expect, it } from 'vitest'
import type { ChatRequest } from './library-request.ts'
import { chatRun, completionRun, embeddingRun } from './library-runs.ts'

const CHAT: ChatRequest = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }

describe('a library call', () => {
  it('keeps zero, empty lists and empty texts: they are values', () => {
    const { task, timeout, keepAlive } = chatRun({
      ...CHAT,
      temperature: 0,
      seed: 0,
      maxTokens: 0,
      topK: 0,
      stop: [],
      timeout: 0,
      keepAlive: 0,
    })
    expect(task).toMatchObject({ sampling: { temperature: 0, seed: 0, topK: 0 }, maxTokens: 0, stop: [] })
    expect([timeout, keepAlive]).toEqual([0, 0])
    expect(completionRun({ model: 'm', prompt: '' }).task).toMatchObject({ prompt: '' })
  })

  it('takes seconds and durations', () => {
    expect(chatRun({ ...CHAT, timeout: 1.5, keepAlive: '5m' })).toMatchObject({
      timeout: 1500,
      keepAlive: 300_000,
    })
    expect(chatRun({ ...CHAT, keepAlive: -1 }).keepAlive).toBe(-1)
  })

  it('one stop string is a list of one', () => {
    expect(chatRun({ ...CHAT, stop: 'END' }).task).toMatchObject({ stop: ['END'] })
  })

  it('a mistyped option is refused with the one that was meant (P1)', () => {
    expect(() => chatRun({ ...CHAT, temprature: 0 } as ChatRequest)).toThrow('Did you mean "temperature"?')
  })

  it.each([
    ['messages', { messages: [] }],
    ['messages[0].role', { messages: [{ role: 'banana', content: '' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
    ['temperature', { temperature: -1 }],
    ['temperature', { temperature: Number.NaN }],
    ['temperature', { temperature: '0' }],
    ['topP', { topP: 5 }],
    ['minP', { minP: 2 }],
    ['seed', { seed: 1e12 }],
    ['seed', { seed: 0.5 }],
    ['maxTokens', { maxTokens: -1 }],
    ['stop[0]', { stop: [''] }],
    ['logitBias.5', { logitBias: { 5: 101 } }],
    ['logitBias', { logitBias: { x: 1 } }],
    ['model', { model: '' }],
  ])('%s is named when it is wrong: %j', (param, wrong) => {
    expect(() => chatRun({ ...CHAT, ...wrong } as ChatRequest)).toThrow(
      expect.objectContaining({ code: 'invalid_request', details: { param } }),
    )
  })

  it.each([
    ['input', []],
    ['input[1]', ['a', '']],
    ['input[0]', ''],
    ['input[0]', [5]],
  ])('embedding %s is named when it is wrong: %j', (param, input) => {
    expect(() => embeddingRun({ model: 'm', input: input as string[] })).toThrow(
      expect.objectContaining({ details: { param } }),
    )
  })
})
