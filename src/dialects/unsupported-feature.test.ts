import { describe, expect, it } from 'vitest'
import type { EngineCapabilities } from '../engines/engine.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { CompletionTask } from '../tasks/completion-task.ts'
import type { Task } from '../tasks/task.ts'
import { unsupportedFeature } from './unsupported-feature.ts'

const NONE: EngineCapabilities = {
  tasks: ['chat', 'completion', 'embedding'],
  tools: false,
  structuredOutput: false,
  logprobs: false,
  reasoning: false,
  images: false,
  audio: false,
  prefill: false,
  infill: false,
  tokenInput: false,
  echo: false,
  logitBias: false,
  grammar: false,
}

function chat(fields: Partial<ChatTask> = {}): Task {
  return { kind: 'chat', messages: [{ role: 'user', content: 'x' }], sampling: {}, stop: [], ...fields }
}

function completion(fields: Partial<CompletionTask> = {}): Task {
  return { kind: 'completion', prompt: 'x', sampling: {}, stop: [], ...fields }
}

const image = { type: 'image', mediaType: 'image/png', data: new Uint8Array(1) } as const
const audio = { type: 'audio', format: 'wav', data: new Uint8Array(1) } as const

const ROWS: [keyof EngineCapabilities, Task, string, 'model' | 'engine'][] = [
  ['tools', chat({ tools: [{ name: 'a', parameters: {} }] }), 'tools', 'model'],
  ['reasoning', chat({ reasoning: { enabled: true } }), 'reasoning_effort', 'model'],
  ['images', chat({ messages: [{ role: 'user', content: [image] }] }), 'messages[0].content[0]', 'model'],
  [
    'audio',
    chat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, audio] }] }),
    'messages[0].content[1]',
    'model',
  ],
  ['structuredOutput', chat({ format: { type: 'json-object' } }), 'response_format', 'engine'],
  ['grammar', chat({ format: { type: 'grammar', grammar: 'g' } }), 'grammar', 'engine'],
  ['prefill', chat({ messages: [{ role: 'assistant', content: 'Well' }] }), 'messages[0]', 'engine'],
  ['logprobs', chat({ topLogprobs: 0 }), 'logprobs', 'engine'],
  ['logitBias', chat({ sampling: { logitBias: { 1: 2 } } }), 'logit_bias', 'engine'],
  ['infill', completion({ suffix: '' }), 'suffix', 'model'],
  ['echo', completion({ echo: true }), 'echo', 'engine'],
  ['tokenInput', completion({ prompt: [1] }), 'prompt', 'model'],
  ['tokenInput', { kind: 'embedding', inputs: ['a', [1]] }, 'input', 'model'],
]

describe('what a task needs and a model lacks', () => {
  it.each(ROWS)('%s', (capability, task, param, lacking) => {
    expect(unsupportedFeature(task, NONE)).toMatchObject({ param, lacking })
    expect(unsupportedFeature(task, { ...NONE, [capability]: true })).toBeUndefined()
  })

  it.each([
    ['chat', chat()],
    ['completion', completion()],
    ['embedding', { kind: 'embedding', inputs: ['a'] }],
  ] as [string, Task][])('plain %s needs nothing but the kind of task', (kind, task) => {
    expect(unsupportedFeature(task, NONE)).toBeUndefined()
    const others = NONE.tasks.filter((other) => other !== kind)
    expect(unsupportedFeature(task, { ...NONE, tasks: others })).toMatchObject({
      param: 'model',
      lacking: 'model',
    })
  })

  it.each([
    ['reasoning that is switched off', chat({ reasoning: { enabled: false } })],
    ['an empty list of tools', chat({ tools: [] })],
    ['echo: false', completion({ echo: false })],
  ])('%s asks for nothing', (_what, task) => {
    expect(unsupportedFeature(task, NONE)).toBeUndefined()
  })
})
