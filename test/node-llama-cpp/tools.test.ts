import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { ChatTask } from '../../src/tasks/chat-task.ts'
import type { Tool } from '../../src/tasks/message.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { ask, chat, load, type Answer } from './fixtures.ts'

const WEATHER: Tool = {
  name: 'get_weather',
  description: 'Get the weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

interface Call {
  id: string
  name: string
  given: unknown
}

function callsOf({ parts }: Answer): Call[] {
  const calls: { id: string; name: string; text: string }[] = []
  for (const part of parts) {
    if (part.type === 'tool-call') calls[part.index] = { id: part.id, name: part.name, text: '' }
    if (part.type === 'tool-call-arguments') (calls[part.index] as { text: string }).text += part.text
  }
  return calls.map(({ id, name, text }) => ({ id, name, given: JSON.parse(text) as unknown }))
}

describe('tools on the embedded engine', () => {
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(TINY_CHAT)
  })
  afterAll(async () => model.unload())

  const asked = (text: string, changes: Partial<ChatTask> = {}): Promise<Answer> =>
    ask(model, chat(text, { tools: [WEATHER], ...changes }))

  it('E2: a call comes as its name and the pieces of its arguments, not as text', async () => {
    const answer = await asked('What is the weather in Rome?')
    expect(callsOf(answer)).toEqual([
      { id: expect.stringMatching(/^call_/) as string, name: 'get_weather', given: { city: 'Rome' } },
    ])
    expect(answer.text).toBe('')
    expect(answer.result.finishReason).toBe('tool-calls')
    const pieces = answer.parts.filter(({ type }) => type === 'tool-call-arguments')
    expect(pieces.length).toBeGreaterThan(1)
  })

  it('E2: two calls of one answer have ids of their own', async () => {
    const calls = callsOf(await asked('Weather in Rome and Oslo?'))
    expect(calls.map(({ given }) => given)).toEqual([{ city: 'Rome' }, { city: 'Oslo' }])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  it('E2: with parallel calls ruled out the answer ends with the first', async () => {
    const answer = await asked('Weather in Rome and Oslo?', { parallelToolCalls: false })
    expect(callsOf(answer).map(({ given }) => given)).toEqual([{ city: 'Rome' }])
    expect(answer.result.finishReason).toBe('tool-calls')
  })

  it('E2: a model that is offered tools may still just answer', async () => {
    const answer = await asked('hi')
    expect(answer.text).toBe('Hello, how are you today?')
    expect(answer.result.finishReason).toBe('stop')
  })

  it('E2: tool choice "none" shows the model no tools', async () => {
    const answer = await asked('hi', { toolChoice: 'none' })
    const plain = await ask(model, chat('hi'))
    expect(answer.result.usage.promptTokens).toBe(plain.result.usage.promptTokens)
  })

  it('BR-41: a stop string inside of a call does not end it', async () => {
    const answer = await asked('What is the weather in Rome?', { stop: ['city', 'Rome'] })
    expect(callsOf(answer).map(({ given }) => given)).toEqual([{ city: 'Rome' }])
  })

  it('a call that is cut short by the limit keeps what there was', async () => {
    const answer = await asked('What is the weather in Rome?', { maxTokens: 8 })
    expect(answer.result.finishReason).toBe('length')
  })
})
