import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { MlxEngine } from '../../src/engines/mlx/mlx-engine.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import type { ContentPart, Message } from '../../src/tasks/message.ts'
import { png, RED } from '../models/tiny-image.ts'
import { writeTinyVision } from '../models/tiny-vision.ts'
import { ask, chat, HOST, NEVER, read, specOf } from '../node-llama-cpp/fixtures.ts'
import { isRunning, until } from '../yard/harness.ts'

const PYTHON = resolve(import.meta.dirname, '../programs/fake-mlx-vlm.mjs')
const folder = await mkdtemp(join(tmpdir(), 'modelyard-fake-vision-'))
const engine = new MlxEngine({ enginesDirectory: folder, recordsDirectory: join(folder, 'records') })
const DOT = png(1, 1, RED)

const loaded: LoadedModel[] = []
afterEach(async () => {
  await Promise.all(loaded.splice(0).map((model) => model.unload()))
})
afterAll(async () => rm(folder, { recursive: true, force: true }))

/** A worker that behaves so; the real one is in test/mlx-vision. */
async function load(
  mode: string,
  engineOptions: Record<string, unknown> = { python: PYTHON },
): Promise<LoadedModel> {
  const facts = await new ModelInspector().inspect(await writeTinyVision(join(folder, mode)))
  const plan = engine.plan(specOf({ engine: 'mlx', context: 1024, engineOptions }), facts, HOST)
  const model = await engine.load(plan, { signal: NEVER, onProgress: () => undefined })
  loaded.push(model)
  return model
}

function seen(...parts: readonly (Uint8Array | string)[]): Message {
  const content = parts.map((part): ContentPart =>
    typeof part === 'string'
      ? { type: 'text', text: part }
      : { type: 'image', mediaType: 'image/png', data: part },
  )
  return { role: 'user', content }
}

describe.skipIf(process.platform === 'win32')('mlx: images on their way to a worker', () => {
  it('arrive as bytes in their order, each with its text in the place where it was', async () => {
    const model = await load('usual')
    const other = png(2, 1, RED)
    const { text, result } = await ask(model, chat([seen('a', DOT, 'b', other), seen('c')]))
    const got = JSON.parse(text) as { text: string; images: string[]; tokens: number }
    expect(got.text).toContain('user\na<img>b<img><|im_end|>')
    expect(got.images).toEqual([DOT, other].map((image) => Buffer.from(image).toString('base64')))
    expect(result.usage.promptTokens).toBe(got.text.replaceAll('<img>', '123').length)
    expect(got.tokens).toBe(result.usage.promptTokens)
    expect(await model.countTokens(chat([seen('a', DOT, 'b', other), seen('c')]))).toBe(got.tokens)
  })

  it('go with each piece of an answer that is held to a form', async () => {
    const model = await load('usual')
    const format = { type: 'grammar' as const, grammar: 'root ::= "{" [a-z":]+ "<"' }
    const { text } = await ask(model, chat([seen(DOT)], { format, maxTokens: 8 }))
    expect(text).toMatch(/^\{"/)
  })

  it.each([
    ['usual', 'invalid_request', /control tokens|stands for an image/, [DOT, '<img>']],
    ['usual', 'invalid_request', /Message 0 has an image that cannot be read/, [new Uint8Array([60, 115])]],
    ['usual', 'context_length_exceeded', /1024/, [DOT, 'x'.repeat(1100)]],
    ['picky', 'invalid_request', /Image 1 of 1 is damaged/, [DOT]],
    ['single', 'unsupported', /takes one image in a conversation, and there are 2/, [DOT, DOT]],
    ['blind', 'unsupported', /sees no images: mlx_vlm knows no text/, [DOT]],
    ['cut-off', 'engine_failed', /before it was complete/, [DOT]],
  ])('of a worker that is %s: %s, %s', async (mode, code, words, parts) => {
    const model = await load(mode)
    await expect(ask(model, chat([seen(...parts)]))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(words) as string,
    })
    await expect(model.ping()).resolves.toBeUndefined()
  })

  it('a prefill of images is let go at once', async () => {
    const model = await load('prefills-for-ever')
    const stop = new AbortController()
    const running = read(model.run(chat([seen(DOT)]), { slot: 0, keptPrefix: 0, signal: stop.signal }))
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
  })

  it('kill -9 in one: the caller is told, nothing is left', async () => {
    const model = await load('prefills-for-ever')
    const pid = model.pid ?? 0
    const running = read(model.run(chat([seen(DOT)]), { slot: 0, keptPrefix: 0, signal: NEVER }))
    running.catch(() => undefined)
    process.kill(pid, 'SIGKILL')
    await expect(running).rejects.toMatchObject({ code: 'worker_exited' })
    await until(() => !isRunning(pid))
  })
})

describe.skipIf(process.platform === 'win32')('mlx: models that see and cannot be loaded', () => {
  it('without mlx-vlm, told with what to type', async () => {
    await expect(load('usual', {})).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('modelyard engines install mlx --vision') as string,
    })
  })

  it('with a processor that needs PyTorch, told with what to do', async () => {
    await expect(load('needs-torch')).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('PyTorch') as string,
      details: { failure: 'missing_engine' },
    })
  })
})
