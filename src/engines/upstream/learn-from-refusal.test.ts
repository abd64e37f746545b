import { expect, it } from 'vitest'
import type { Task } from '../../tasks/task.ts'
import { learnFromRefusal } from './learn-from-refusal.ts'
import { refusalError } from './upstream-error.ts'

const PLAIN: Task = { kind: 'chat', messages: [{ role: 'user', content: 'hi' }], sampling: {}, stop: [] }
const WITH_TOOLS: Task = { ...PLAIN, tools: [{ name: 'now', parameters: {} }] }
const WITH_LOGPROBS: Task = { ...PLAIN, topLogprobs: 2 }
const EMBEDDING: Task = { kind: 'embedding', inputs: ['hi'] }
const WITH_IMAGE: Task = {
  ...PLAIN,
  messages: [
    { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: new Uint8Array([1]) }] },
  ],
}

function learned(task: Task, status: number, reason: string): string | undefined {
  const body = reason === '' ? '' : JSON.stringify({ error: { message: reason } })
  return learnFromRefusal(task, refusalError('far', { url: 'http://x/v1', status, body }))?.name
}

it.each<[task: Task, status: number, reason: string, ability: string | undefined]>([
  [EMBEDDING, 404, '', 'embedding'],
  [EMBEDDING, 405, 'Method Not Allowed', 'embedding'],
  [EMBEDDING, 501, 'This server does not support embeddings. Start it with `--embeddings`', 'embedding'],
  [EMBEDDING, 400, 'The model does not support Embeddings API', 'embedding'],
  [EMBEDDING, 404, 'The model `far` does not exist.', undefined],
  [WITH_TOOLS, 400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser', 'tools'],
  [WITH_TOOLS, 500, 'tools param requires --jinja flag', 'tools'],
  [WITH_TOOLS, 400, 'registry.ollama.ai/library/x does not support tools', 'tools'],
  [WITH_TOOLS, 400, 'tools[0].function.parameters: type "thing" is not supported', undefined],
  [PLAIN, 400, 'registry.ollama.ai/library/x does not support tools', undefined],
  [WITH_LOGPROBS, 400, "Unsupported parameter: 'logprobs' is not supported with this model.", 'logprobs'],
  [WITH_IMAGE, 500, 'image input is not supported - hint: you may need to provide the mmproj', 'images'],
  [PLAIN, 400, 'temperature must be at most 2', undefined],
  [PLAIN, 500, 'out of memory', undefined],
  [PLAIN, 401, 'wrong key', undefined],
])(
  '%#: a refusal with %s tells of the endpoint only what it says of itself',
  (task, status, reason, ability) => {
    expect(learned(task, status, reason)).toBe(ability)
  },
)

it('F10: keeps nothing of the words, which may repeat what a user wrote', () => {
  const body = JSON.stringify({ error: { message: 'my secret does not support tools' } })
  const error = refusalError('far', { url: 'http://x/v1', status: 400, body })
  expect(JSON.stringify(learnFromRefusal(WITH_TOOLS, error))).not.toContain('secret')
})
