import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { ChatTask } from '../../src/tasks/chat-task.ts'
import type { Tool } from '../../src/tasks/message.ts'
import { fetched, SMOLLM2, TINY_CHAT } from '../models/paths.ts'
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

const REPORT: Tool = {
  name: 'report',
  description: 'Report what was found',
  parameters: {
    type: 'object',
    properties: {
      title: { type: 'string', maxLength: 12 },
      level: { enum: ['low', 'high'] },
      count: { type: 'integer', minimum: 0, maximum: 99 },
    },
    required: ['title', 'level', 'count'],
    additionalProperties: false,
  },
}

function isReport(given: unknown): boolean {
  const { title, level, count } = given as Record<string, unknown>
  const isCount = Number.isInteger(count) && Number(count) >= 0 && Number(count) <= 99
  return typeof title === 'string' && title.length <= 12 && (level === 'low' || level === 'high') && isCount
}

describe('a tool that has to be called', () => {
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(TINY_CHAT)
  })
  afterAll(async () => model.unload())

  const forced = (text: string, changes: Partial<ChatTask>): Promise<Answer> =>
    ask(model, chat(text, { tools: [WEATHER, REPORT], sampling: { temperature: 1.5, seed: 3 }, ...changes }))

  it('E2: is the one that is named, with arguments that fit its schema, and nothing else', async () => {
    for (let seed = 0; seed < 10; seed++) {
      const answer = await forced('hi', {
        toolChoice: { name: 'report' },
        sampling: { temperature: 1.5, seed },
      })
      const calls = callsOf(answer)
      expect(calls.map(({ name }) => name)).toEqual(['report'])
      expect(calls.every(({ given }) => isReport(given))).toBe(true)
      expect(answer.text).toBe('')
      expect(answer.result.finishReason).toBe('tool-calls')
    }
  })

  it('E2: is any of those offered where one is required; several come only where they may', async () => {
    const sampling = { temperature: 1.5, seed: 5 }
    const one = callsOf(await forced('hi', { toolChoice: 'required', parallelToolCalls: false, sampling }))
    expect(one).toHaveLength(1)
    const bounded = {
      ...WEATHER,
      parameters: { ...WEATHER.parameters, properties: { city: { type: 'string', maxLength: 5 } } },
    }
    const several = await forced('hi', { toolChoice: 'required', tools: [bounded, REPORT], sampling })
    expect(callsOf(several).every(({ name }) => ['get_weather', 'report'].includes(name))).toBe(true)
    expect(several.text).toBe('')
  })

  it('E2: is written as the model knows it: a model that would call anyway calls the same', async () => {
    const answer = await forced('What is the weather in Rome?', {
      tools: [WEATHER],
      toolChoice: 'required',
      parallelToolCalls: false,
      sampling: { temperature: 0 },
    })
    expect(callsOf(answer).map(({ given }) => given)).toEqual([{ city: 'Rome' }])
  })

  it('E2: also with log-probabilities, where the choice of tokens is ours', async () => {
    const answer = await forced('hi', { toolChoice: { name: 'report' }, topLogprobs: 0 })
    expect(callsOf(answer).every(({ given }) => isReport(given))).toBe(true)
  })

  it.each<[string, Partial<ChatTask>]>([
    ['is not offered', { toolChoice: { name: 'fly' } }],
    ['has no tools to be among', { tools: [], toolChoice: 'required' }],
  ])('E2: is refused where it %s', async (_, changes) => {
    await expect(forced('hi', changes)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'tool_choice' },
    })
  })
})

describe.skipIf(!fetched(SMOLLM2))('SmolLM2, whose template knows nothing of tools', () => {
  const tries = Number(process.env['MODELYARD_FORCED_TRIES'] ?? 4)
  let model: LoadedModel
  beforeAll(async () => {
    model = await load(SMOLLM2, { context: 2048 })
  })
  afterAll(async () => model.unload())

  it(
    `E2: writes a valid call each time it has to (${tries} tries)`,
    { timeout: 60_000 * tries },
    async () => {
      for (let seed = 0; seed < tries; seed++) {
        const task = chat('A tree fell on the road. Report it.', {
          tools: [REPORT],
          toolChoice: seed % 2 === 0 ? 'required' : { name: 'report' },
          parallelToolCalls: false,
          sampling: { temperature: 1, seed },
        })
        const answer = await ask(model, task)
        expect(callsOf(answer).map(({ name }) => name)).toEqual(['report'])
        expect(callsOf(answer).every(({ given }) => isReport(given))).toBe(true)
      }
    },
  )
})
