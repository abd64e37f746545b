import { expect, it } from 'vitest'
import type { Task } from '../../tasks/task.ts'
import { FormBody } from './form-body.ts'
import { isOtherTask, refusesForm, taskRequest, type OtherTask } from './task-request.ts'

const SETTINGS = { remoteModel: 'there', defaults: {} }
const MP3 = Uint8Array.from(Buffer.from('ID3\r\n--'))
const HEAR: OtherTask = { kind: 'transcription', audio: MP3 }

/** As it goes over the wire. */
function sent(task: OtherTask, settings: Parameters<typeof taskRequest>[1] = SETTINGS): unknown {
  return JSON.parse(JSON.stringify(taskRequest(task, settings)))
}

async function form(task: OtherTask): Promise<FormData> {
  const { body } = taskRequest(task, SETTINGS)
  if (!(body instanceof FormBody)) throw new Error('It is no form.')
  const headers = { 'content-type': body.contentType }
  return await new Response(new Uint8Array(body.bytes), { headers }).formData()
}

it('nothing is said of what was not asked', async () => {
  expect(sent({ kind: 'speech', text: 'hi', format: 'pcm' })).toEqual({
    path: '/audio/speech',
    accept: '*/*',
    body: { model: 'there', input: 'hi', response_format: 'pcm' },
  })
  expect(sent({ kind: 'image', prompt: 'x', count: 1 }, { ...SETTINGS, isPlain: true })).toEqual({
    path: '/images/generations',
    body: { model: 'there', prompt: 'x', n: 1 },
  })
  expect([...(await form(HEAR)).keys()]).toEqual(['model', 'response_format', 'file'])
})

it("a picture has the model's own seed where the request has none, and zero is one", () => {
  const settings = { ...SETTINGS, defaults: { seed: 7 } }
  const draw = { kind: 'image' as const, prompt: 'x', count: 1 }
  expect(sent(draw, settings)).toMatchObject({ body: { seed: 7 } })
  expect(sent({ ...draw, seed: 0 }, settings)).toMatchObject({ body: { seed: 0 } })
})

it('a sound is named after what it is, byte for byte, whatever bytes and texts there are', async () => {
  const sound = await form({ ...HEAR, prompt: 'a\r\n"b"; ü', temperature: 0 })
  const file = sound.get('file') as File
  expect([file.name, file.type]).toEqual(['sound.mp3', 'audio/mpeg'])
  expect(new Uint8Array(await file.arrayBuffer())).toEqual(MP3)
  expect([sound.get('prompt'), sound.get('temperature')]).toEqual(['a\r\n"b"; ü', '0'])
})

it('only a refusal of the form of an answer is followed by another request', () => {
  const reason = "Unknown parameter: 'response_format'."
  expect(refusesForm(HEAR, reason)).toBe(true)
  expect(refusesForm(HEAR, 'body.response_format: Input should be json')).toBe(true)
  expect(refusesForm(HEAR, 'the file is damaged')).toBe(false)
  expect(refusesForm(HEAR, undefined)).toBe(false)
  expect(refusesForm({ kind: 'speech', text: 'hi', format: 'wav' }, reason)).toBe(false)
})

it('chat, completion and embedding are asked for elsewhere', () => {
  const others: Task['kind'][] = ['rerank', 'transcription', 'speech', 'image']
  for (const kind of ['chat', 'completion', 'embedding', 'classification', ...others])
    expect(isOtherTask({ kind } as Task)).toBe(others.includes(kind as Task['kind']))
})
