import { describe, expect, it } from 'vitest'
import type { ModelRecipe } from '../models/model-recipe.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import { applyRecipe } from './apply-recipe.ts'

const RECIPE: ModelRecipe = {
  from: 'base',
  system: 'You are Mario.',
  messages: [
    { role: 'user', content: 'Who?' },
    { role: 'assistant', content: 'Mario!' },
  ],
  defaults: { temperature: 0.5, topK: 5, maxTokens: 7 },
  stop: ['END'],
}

const TASK: ChatTask = {
  kind: 'chat',
  messages: [{ role: 'user', content: 'Hi' }],
  sampling: {},
  stop: [],
}

describe('applyRecipe', () => {
  it('fills in what the task leaves out', () => {
    expect(applyRecipe(TASK, RECIPE)).toEqual({
      kind: 'chat',
      messages: [
        { role: 'system', content: 'You are Mario.' },
        { role: 'user', content: 'Who?' },
        { role: 'assistant', content: 'Mario!' },
        { role: 'user', content: 'Hi' },
      ],
      sampling: { temperature: 0.5, topK: 5 },
      stop: ['END'],
      maxTokens: 7,
    })
    expect(TASK).toEqual({
      kind: 'chat',
      messages: [{ role: 'user', content: 'Hi' }],
      sampling: {},
      stop: [],
    })
  })

  it('F27: what the task says counts, zero and the empty text too', () => {
    const task: ChatTask = {
      ...TASK,
      messages: [{ role: 'system', content: '' }, ...TASK.messages],
      sampling: { temperature: 0 },
      stop: ['STOP'],
      maxTokens: 0,
    }
    expect(applyRecipe(task, RECIPE)).toMatchObject({
      messages: [
        { role: 'system', content: '' },
        { content: 'Who?' },
        { content: 'Mario!' },
        { content: 'Hi' },
      ],
      sampling: { temperature: 0, topK: 5 },
      stop: ['STOP'],
      maxTokens: 0,
    })
  })

  it('completions have no messages, embeddings nothing to fill in', () => {
    const completion = { kind: 'completion' as const, prompt: 'Once', sampling: {}, stop: [] }
    expect(applyRecipe(completion, RECIPE)).toEqual({
      ...completion,
      sampling: { temperature: 0.5, topK: 5 },
      stop: ['END'],
      maxTokens: 7,
    })
    const embedding = { kind: 'embedding' as const, inputs: ['a'] }
    expect(applyRecipe(embedding, RECIPE)).toBe(embedding)
  })

  it('a recipe that is only a name changes nothing', () => {
    expect(applyRecipe(TASK, { from: 'base', defaults: {} })).toEqual(TASK)
  })
})
