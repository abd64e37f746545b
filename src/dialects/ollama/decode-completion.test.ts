import { describe, expect, it } from 'vitest'
import { dialectRequest } from '../../../test/http/transcript.ts'
import { ScriptedPort } from '../../../test/http/scripted-port.ts'
import type { Fields } from '../fields.ts'
import { encodeConversation } from './conversation-code.ts'
import { decodeCompletion } from './decode-completion.ts'

const NEVER = new AbortController().signal

function refusal(body: Fields): string {
  try {
    const action = decodeCompletion(dialectRequest({ body: { model: 'tiny', ...body } }))
    return action.type === 'run' ? `runs a ${action.tasks[0]?.kind}` : 'loads'
  } catch (error) {
    const { code, details } = error as { code: string; details: { param?: string } }
    return `${code} ${details.param}`
  }
}

const PNG = 'iVBORw=='
const CONTEXT = encodeConversation([{ role: 'user', content: 'x' }])

describe('generate', () => {
  it.each([
    [{}, 'loads'],
    [{ prompt: '' }, 'loads'],
    [{ prompt: null, keep_alive: 0 }, 'loads'],
    [{ prompt: 'Hi' }, 'runs a chat'],
    [{ images: [PNG] }, 'runs a chat'],
    [{ prompt: 'Hi', raw: true }, 'runs a completion'],
    [{ prompt: 'f(', suffix: ')' }, 'runs a completion'],
    [
      { prompt: 'Hi', raw: true, system: '', context: [], images: [], format: '', think: false },
      'runs a completion',
    ],
    [{ prompt: 'Hi', raw: true, system: 'Be brief.' }, 'invalid_request system'],
    [{ prompt: 'Hi', raw: true, context: CONTEXT }, 'invalid_request context'],
    [{ prompt: 'Hi', raw: true, images: [PNG] }, 'unsupported images'],
    [{ prompt: 'Hi', raw: true, format: 'json' }, 'unsupported format'],
    [{ prompt: 'Hi', raw: true, think: true }, 'unsupported think'],
    [{ prompt: 'f(', suffix: ')', system: 'Be brief.' }, 'invalid_request system'],
    [{ prompt: 5 }, 'invalid_request prompt'],
    [{ prompt: 'Hi', raw: 'yes' }, 'invalid_request raw'],
    [{ prompt: 'Hi', template: '{{ .Prompt }}' }, 'unsupported template'],
    [{ prompt: 'Hi', template: '' }, 'runs a chat'],
    [{ prompt: 'Hi', width: 512 }, 'unsupported width'],
    [{ prompt: 'Hi', context: 'abc' }, 'invalid_request context'],
  ])('%j: %s', (body, outcome) => {
    expect(refusal(body)).toBe(outcome)
  })

  it.each([
    [{}, 'load', { loads: [{ model: 'model-a' }], unloads: [] }],
    [{ keep_alive: '5m' }, 'load', { loads: [{ model: 'model-a', keepAlive: 300_000 }], unloads: [] }],
    [{ keep_alive: -1 }, 'load', { loads: [{ model: 'model-a', keepAlive: -1 }], unloads: [] }],
    [{ keep_alive: 0 }, 'unload', { loads: [], unloads: ['model-a'] }],
    [{ keep_alive: '0' }, 'unload', { loads: [], unloads: ['model-a'] }],
  ])('BR-36: an empty prompt with %j is a %s', async (fields, reason, done) => {
    const port = new ScriptedPort()
    const action = decodeCompletion(dialectRequest({ body: { model: 'model-a', ...fields } }))
    if (action.type !== 'answer') throw new Error('no answer')
    const { contentType, body } = await action.answer(port, NEVER)
    expect([contentType, JSON.parse(body)]).toEqual([
      'application/json',
      {
        model: 'model-a',
        created_at: '2023-11-14T22:13:20.123Z',
        response: '',
        done: true,
        done_reason: reason,
      },
    ])
    expect({ loads: port.loads, unloads: port.unloads }).toEqual(done)
  })
})
