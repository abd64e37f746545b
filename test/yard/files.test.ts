import assert from 'node:assert/strict'
import { copyFile, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadForecast } from '../../src/pool/forecast.ts'
import type { TestHome } from '../cli/program.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { type Api, descendants, HAS_LLAMA, openHome, serve, type ServedYard } from './harness.ts'

const HELLO = 'Hello, how are you today?'

const LFS_POINTER =
  'version https://git-lfs.github.com/spec/v1\n' +
  'oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n'

/** The good file with some bytes written over. */
function patched(good: Buffer, at: number, bytes: number[]): Buffer {
  const copy = Buffer.from(good)
  copy.set(bytes, at)
  return copy
}

/** Files that are no models, by what is wrong, with what the error must say. */
const BROKEN: [what: string, content: (good: Buffer) => Buffer | string, says: RegExp][] = [
  ['empty', () => '', /empty|truncated/],
  ['of ten bytes', (good) => good.subarray(0, 10), /truncated\/corrupt: expected ≥ \d+ bytes, has 10/],
  ['cut within its metadata', (good) => good.subarray(0, 300), /truncated\/corrupt.*has 300/],
  ['cut in half', (good) => good.subarray(0, good.length / 2), /truncated\/corrupt/],
  ['one byte short', (good) => good.subarray(0, -1), /truncated\/corrupt: expected ≥ \d+ bytes, has \d+/],
  [
    'a page of a web site',
    () => '<!DOCTYPE html><html><body>Log in to download</body></html>',
    /web page|HTML/i,
  ],
  ['a Git LFS pointer', () => LFS_POINTER, /LFS/],
  [
    'noise',
    (good) => Buffer.from(good.map((byte, index) => (byte * 31 + index * 7 + 13) % 256)),
    /not.*GGUF|is no/i,
  ],
  [
    'noise after the right beginning',
    (good) => Buffer.concat([good.subarray(0, 24), Buffer.alloc(5000, 0x5a)]),
    /corrupt|more than/,
  ],
  ['of a version to come', (good) => patched(good, 4, [99, 0, 0, 0]), /version 99/],
  ['with a text of 2^63 bytes', (good) => patched(good, 24, [0, 0, 0, 0, 0, 0, 0, 0x80]), /corrupt/],
  [
    'with more tensors than there can be',
    (good) => patched(good, 8, [255, 255, 255, 255, 255, 255, 255, 0x7f]),
    /corrupt|tensors/,
  ],
]

const idOf = (what: string): string => what.replaceAll(/[^a-z0-9]+/gi, '-')

describe.runIf(HAS_LLAMA)('model files that are no models (BR-23, S5)', () => {
  let home: TestHome
  let served: ServedYard
  let api: Api
  let good: { file: string; context: number }
  beforeAll(async () => {
    home = await openHome()
    good = { file: join(home.path, 'good.gguf'), context: 512 }
    await copyFile(TINY_CHAT, good.file)
    const bytes = await readFile(TINY_CHAT)
    const models: Record<string, object> = { good }
    for (const [what, content] of BROKEN) {
      const file = join(home.path, `${idOf(what)}.gguf`)
      await writeFile(file, content(bytes))
      models[idOf(what)] = { file }
    }
    const folder = join(home.path, 'folder.gguf')
    await mkdir(folder)
    Object.assign(models, {
      folder: { file: folder },
      missing: { file: join(home.path, 'missing.gguf') },
      foreign: { file: join(home.path, 'foreign.gguf'), context: 512 },
    })
    await writeFile(
      join(home.path, 'foreign.gguf'),
      bytes.toString('latin1').replaceAll('qwen2', 'qwenX'),
      'latin1',
    )
    await home.configure({ models })
    const plan = JSON.parse((await home.run(['plan', 'good', '--json'])).out) as LoadForecast
    // So that no second model has room: whatever was loaded for a broken file would have to evict the good one.
    await home.configure({ models, memory: { budget: Math.floor((plan.bytes.ram ?? 0) * 1.5) } })
    served = await serve(home)
    ;({ api } = served)
    assert.equal((await api.chat('hi', { model: 'good' })).text, HELLO)
  })
  afterAll(async () => {
    await served.stop()
    await home.remove()
  })

  /** Asks for the model and sees that the rest of the world did not change. */
  async function refusalOf(model: string): Promise<{ status: number; error: Record<string, unknown> }> {
    const [files, workers] = [await filesOf(home), descendants(served.program.pid)]
    const { status, body } = await api.chat('hi', { model })
    assert.deepEqual(Object.keys(body), ['error'])
    assert.deepEqual(Object.keys(body['error'] as object).sort(), ['code', 'message', 'param', 'type'])
    assert.deepEqual(descendants(served.program.pid), workers)
    assert.deepEqual(await filesOf(home), files)
    const { instances } = await api.state()
    assert.deepEqual(
      instances.map(({ id, state }) => [id, state]),
      [['good#1', 'ready']],
    )
    assert.equal((await api.chat('hi', { model: 'good' })).text, HELLO)
    return { status, error: body['error'] as Record<string, unknown> }
  }

  it.each(BROKEN)('%s: a clear error that names it, nothing is loaded or evicted', async (what, _, says) => {
    const { status, error } = await refusalOf(idOf(what))
    expect([status, error['code']]).toEqual([500, 'model_file_invalid'])
    expect(error['message']).toMatch(says)
    expect(error['message']).toContain(`${idOf(what)}.gguf`)
    // The second time says the same: nothing is remembered against it, nothing is given up.
    expect((await refusalOf(idOf(what))).error['message']).toBe(error['message'])
  })

  it('a folder, and a file that is not there', async () => {
    for (const model of ['folder', 'missing']) {
      const { status, error } = await refusalOf(model)
      expect([status, error['code']]).toEqual([404, 'model_not_found'])
      expect(error['message']).toContain(`${model}.gguf`)
    }
  })

  it('a model of an architecture that the engine does not know fails its load with the reason, and the next one works', async () => {
    const { status, body } = await api.chat('hi', { model: 'foreign' })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(body).toMatchObject({ error: { message: expect.stringMatching(/qwenX|architecture/) as string } })
    expect(await api.chat('hi', { model: 'good' })).toMatchObject({ status: 200, text: HELLO })
  })

  it('all of them are listed but the one whose file is not there, and the list works', async () => {
    const { data } = (await (await fetch(`${api.url}/v1/models`)).json()) as { data: { id: string }[] }
    const listed = data.map(({ id }) => id)
    expect(listed).toEqual(expect.arrayContaining(['good', ...BROKEN.map(([what]) => idOf(what))]))
    expect(listed).not.toContain('missing')
  })

  it('a file that was repaired is loaded with the next request', async () => {
    const what = idOf('cut in half')
    await copyFile(TINY_CHAT, join(home.path, `${what}.gguf`))
    expect(await api.chat('Count.', { model: what })).toMatchObject({
      status: 200,
      text: 'one two three four five six seven eight nine ten',
    })
  })
})

/** All files of a home but what the server itself keeps writing, and the engines, which lie elsewhere. */
async function filesOf(home: TestHome): Promise<string[]> {
  const names = (await readdir(home.path)).filter((name) => !/^engines$|^modelyard\.db/.test(name))
  const inside = await Promise.all(
    ['workers', 'logs', 'models', 'contexts'].map((name) => readdir(join(home.path, name)).catch(() => [])),
  )
  return [...names, ...inside.flat()].sort()
}

describe.runIf(HAS_LLAMA)('BR-26: a model file that changes while it is loaded', () => {
  let home: TestHome
  let served: ServedYard
  let api: Api
  beforeAll(async () => {
    home = await openHome()
    const entries = await Promise.all(
      ['replaced', 'removed', 'emptied', 'bystander'].map(async (name): Promise<[string, object]> => {
        await copyFile(TINY_CHAT, join(home.path, `${name}.gguf`))
        return [name, { file: join(home.path, `${name}.gguf`), context: 512 }]
      }),
    )
    await home.configure({ models: Object.fromEntries(entries) })
    served = await serve(home)
    ;({ api } = served)
    for (const [name] of entries) assert.equal((await api.chat('hi', { model: name })).text, HELLO)
  })
  afterAll(async () => {
    await served.stop()
    await home.remove()
  })

  async function unload(model: string): Promise<void> {
    await api.post('/api/yard/unload', JSON.stringify({ model }))
  }

  it('replaced: the loaded copy serves as it was, the next load is the new file', async () => {
    const next = join(home.path, 'next.tmp')
    makeTinyModel(next, { chains: [{ after: '\n', pieces: ['I', ' am', ' the', ' new', ' one', '.'] }] })
    await rename(next, join(home.path, 'replaced.gguf'))
    const before = await api.chat('hi', { model: 'replaced' })
    expect(before.text).toBe(HELLO)
    await unload('replaced')
    const after = await api.chat('hi', { model: 'replaced' })
    expect(after.text).toBe('I am the new one.')
    expect(after.promptTokens).not.toBe(before.promptTokens)
  })

  it('removed: the loaded copy serves on, then the file is said to be gone, and is found again', async () => {
    await rm(join(home.path, 'removed.gguf'))
    expect(await api.chat('hi', { model: 'removed' })).toMatchObject({ text: HELLO })
    await unload('removed')
    expect(await api.chat('hi', { model: 'removed' })).toMatchObject({
      status: 404,
      body: {
        error: {
          code: 'model_not_found',
          message: expect.stringMatching(/no file .*removed\.gguf/) as string,
        },
      },
    })
    await copyFile(TINY_CHAT, join(home.path, 'removed.gguf'))
    expect(await api.chat('hi', { model: 'removed' })).toMatchObject({ text: HELLO })
  })

  it('emptied in place: at worst its worker dies; the server and the others go on', async () => {
    const bystander = await api.instance('bystander')
    await truncate(join(home.path, 'emptied.gguf'), 0)
    const answer = await api.chat('Count.', { model: 'emptied' })
    expect([200, 500, 503]).toContain(answer.status)
    await unload('emptied')
    const refused = await api.chat('Count.', { model: 'emptied' })
    expect(refused.status).toBeGreaterThanOrEqual(500)
    expect(await api.chat('hi', { model: 'bystander' })).toMatchObject({ text: HELLO })
    expect((await api.instance('bystander'))?.id).toBe(bystander?.id)
    await copyFile(TINY_CHAT, join(home.path, 'emptied.gguf'))
    await api.until(({ models }) => models.every(({ lastError }) => (lastError?.retryIn ?? 0) === 0))
    expect(await api.chat('hi', { model: 'emptied' })).toMatchObject({ text: HELLO })
  })
})
