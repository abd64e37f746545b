import { expect, it } from 'vitest'
import type { Task } from '../../tasks/task.ts'
import { learnFromRefusal } from './learn-from-refusal.ts'
import { refusalError } from './upstream-error.ts'

const PLAIN: Task = { kind: 'chat', messages: [{ role: 'user', content: 'hi' }], sampling: {}, stop: [] }
const WITH_TOOLS: Task = { ...PLAIN, tools: [{ name: 'now', parameters: {} }] }
const WITH_LOGPROBS: Task = { ...PLAIN, topLogprobs: 2 }
const EMBEDDING: Task = { kind: 'embedding', inputs: ['hi'] }
const RANK: Task = { kind: 'rerank', query: 'a', documents: ['b'] }
const HEAR: Task = { kind: 'transcription', audio: new Uint8Array([1]) }
const SAY: Task = { kind: 'speech', text: 'hi', format: 'wav' }
const DRAW: Task = { kind: 'image', prompt: 'a cat', count: 1 }
const IDS: Task = { kind: 'completion', prompt: [1], sampling: {}, stop: [] }
const OPEN: Task = { ...PLAIN, messages: [...PLAIN.messages, { role: 'assistant', content: 'Hel' }] }
const WITH_SOUND: Task = {
  ...PLAIN,
  messages: [{ role: 'user', content: [{ type: 'audio', format: 'wav', data: new Uint8Array([1]) }] }],
}
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
  [WITH_IMAGE, 400, 'At most 0 image(s) may be provided in one prompt.', 'images'],
  [WITH_IMAGE, 400, 'At most 1 image(s) may be provided in one prompt.', undefined],
  [WITH_IMAGE, 400, 'Invalid content type. image_url is only supported by certain models.', 'images'],
  [WITH_IMAGE, 400, 'messages[0]: unknown variant `image_url`, expected `text`', 'images'],
  [WITH_IMAGE, 400, 'The model "blind" does not support images here.', 'images'],
  [WITH_IMAGE, 400, 'cannot identify image file', undefined],
  [PLAIN, 400, 'At most 0 image(s) may be provided in one prompt.', undefined],
  [WITH_SOUND, 400, 'At most 0 audio(s) may be provided in one prompt.', 'audio'],
  [OPEN, 501, 'The model "m" does not support prefill here.', 'prefill'],
  [IDS, 400, 'The model "m" does not support token input here.', 'tokenInput'],
  [RANK, 501, 'This server does not support reranking. Start it with `--reranking`', 'rerank'],
  [RANK, 400, 'The model does not support Rerank (Score) API', 'rerank'],
  [RANK, 400, 'The model "m" does not support rerank tasks here; it does chat.', 'rerank'],
  [HEAR, 400, 'The model does not support Transcriptions API', 'transcription'],
  [{ ...HEAR, translate: true }, 404, '', 'translation'],
  [HEAR, 501, 'The current model does not support audio input.', 'transcription'],
  [HEAR, 400, 'The audio is too long', undefined],
  [SAY, 405, '', 'speech'],
  [SAY, 501, 'There is no encoder for opus here; ask for wav.', undefined],
  [SAY, 200, 'Unexpected endpoint or method. (POST /v1/audio/speech)', 'speech'],
  [DRAW, 404, 'File Not Found', 'image'],
  [DRAW, 400, 'The model "m" does not support image tasks here; it does chat.', 'image'],
  [PLAIN, 501, 'The model "m" does not support logprobs here.', undefined],
  [PLAIN, 400, '"nomic" does not support chat', 'chat'],
  [PLAIN, 400, 'This tokenizer does not support chat templates', undefined],
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
