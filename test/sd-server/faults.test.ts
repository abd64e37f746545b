import { chmod, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { processesWith } from '../llama-server/fixtures.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask } from '../node-llama-cpp/fixtures.ts'
import { loadPainter, painterPlan, picture, writePainter, type PainterOptions } from './fixtures.ts'

const clock = new SystemClock()

describe.skipIf(process.platform !== 'linux')('an sd-server (a fake) that', () => {
  let folder: string
  beforeAll(async () => {
    folder = await temporaryFolder()
  })
  afterAll(async () => removeFolder(folder))

  /** Uses a model and ends it, whatever happens; nothing of it may be left. */
  async function withPainter(
    mode: string,
    use: (model: LoadedModel) => Promise<void>,
    options: PainterOptions = {},
  ): Promise<void> {
    const model = await loadPainter(folder, mode, options)
    try {
      await use(model)
    } finally {
      await model.unload()
    }
    expect(processesWith(folder)).toEqual([])
  }

  it.each([
    ['damaged', 'bad_file', 'get sd version from file failed'],
    ['wrong-flag', 'bad_option', 'unknown argument: --vae'],
    ['no-memory', 'out_of_memory', 'alloc params backend buffer failed'],
    ['port-taken', 'port', 'Something else took its port'],
    ['foreign', 'port', 'Another program took the port'],
    ['too-old', 'missing_engine', 'May 2026 or newer'],
    ['video', 'bad_file', 'makes no pictures (vid_gen)'],
  ])('is %s: the load fails as %s, with its words and what to do (R11)', async (mode, failure, words) => {
    await expect(loadPainter(folder, mode)).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining(words) as string,
      details: { failure },
    })
    expect(processesWith(folder)).toEqual([])
  })

  it('does not know the sampler or the scheduler that is configured says which it knows', async () => {
    const loading = loadPainter(folder, 'plain', { options: { sampler: 'banana' } })
    await expect(loading).rejects.toMatchObject({
      message: expect.stringContaining('sampler must be one of euler, euler_a, heun') as string,
      details: { failure: 'bad_option' },
    })
    const other = loadPainter(folder, 'plain', { options: { scheduler: 'banana' } })
    await expect(other).rejects.toMatchObject({ details: { failure: 'bad_option' } })
  })

  it('is not there, or is no program, names what to get and where to put it', async () => {
    const notes = join(folder, 'notes.txt')
    await writeFile(notes, 'no program')
    await chmod(notes, 0o755)
    for (const binary of ['/nowhere/sd-server', notes]) {
      await expect(loadPainter(folder, 'plain', { options: { binary } })).rejects.toMatchObject({
        code: 'engine_missing',
        message: expect.stringMatching(/put sd-server on PATH, or name it in the option "binary"/) as string,
      })
    }
  })

  it('never becomes ready is ended with the load that is given up', async () => {
    const controller = new AbortController()
    const loading = loadPainter(folder, 'never-ready', { signal: controller.signal })
    loading.catch(() => undefined)
    for (let look = 0; look < 200 && processesWith(folder).length === 0; look++) await sleep(clock, 20)
    controller.abort()
    await expect(loading).rejects.toMatchObject({ code: 'aborted' })
    expect(processesWith(folder)).toEqual([])
  })

  it.each([
    ['fails', 'generate_image returned no results. Its log says: vae: failed to allocate the compute buffer'],
    ['no-picture', 'sent none'],
    ['rounds-up', '72x64 where 64x64 was asked for'],
    ['refuses', 'invalid generation parameters'],
  ])('%s: the run is an error of the engine, and the model goes on', async (mode, words) => {
    await withPainter(mode, async (model) => {
      await expect(ask(model, picture())).rejects.toMatchObject({
        code: 'engine_failed',
        message: expect.stringContaining(words) as string,
      })
      await expect(model.ping()).resolves.toBeUndefined()
    })
  })

  it('dies while it makes a picture: the run ends with the signal', async () => {
    await withPainter('dies', async (model) => {
      await expect(ask(model, picture())).rejects.toMatchObject({
        code: 'worker_exited',
        details: { signal: 'SIGKILL' },
      })
      expect(await model.exited).toMatchObject({ expected: false })
    })
  })

  it('hangs in a picture and answers all else is replaced when no step comes for too long (R12)', async () => {
    await withPainter(
      'hangs',
      async (model) => {
        await expect(ask(model, picture())).rejects.toMatchObject({
          code: 'worker_exited',
          message: expect.stringContaining('no progress') as string,
        })
      },
      { deadlines: { stall: 2000 } },
    )
  })

  it('stands still is replaced when it does not answer (R12)', async () => {
    await withPainter(
      'stands-still',
      async (model) => {
        await expect(ask(model, picture())).rejects.toMatchObject({
          code: 'worker_exited',
          message: expect.stringContaining('did not answer') as string,
        })
      },
      { deadlines: { wake: 2000, silence: 3000 } },
    )
  })

  it('ignores SIGTERM is killed with its group, also while it makes a picture', async () => {
    const model = await loadPainter(folder, 'ignores-sigterm', { deadlines: { terminate: 200 } })
    const running = ask(model, picture({ steps: 100 }))
    running.catch(() => undefined)
    await sleep(clock, 100)
    const begun = clock.now()
    await model.unload()
    expect(clock.now() - begun).toBeLessThan(3000)
    await expect(running).rejects.toMatchObject({ code: 'run_cut' })
    expect(await model.exited).toMatchObject({ expected: true })
    expect(processesWith(folder)).toEqual([])
  })
})

describe('files of a diffusion model', () => {
  let folder: string
  beforeAll(async () => {
    folder = await temporaryFolder()
  })
  afterAll(async () => removeFolder(folder))

  it('that are gone are told by the name of their option', async () => {
    await expect(painterPlan(join(folder, 'gone.gguf'))).rejects.toMatchObject({ code: 'model_not_found' })
    const path = await writePainter(folder)
    await expect(painterPlan(path, { options: { clipL: join(folder, 'gone.gguf') } })).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('option "clipL"') as string,
    })
  })

  it.each([
    ['an empty file', Buffer.alloc(0), 'neither GGUF nor safetensors'],
    ['a pickled checkpoint', Buffer.from('PK\u0003\u0004archive/data.pkl'), 'neither GGUF nor safetensors'],
    ['a page', Buffer.from('<!doctype html>'), 'neither GGUF nor safetensors'],
    [
      'a header longer than its file',
      Buffer.concat([Buffer.from([0, 0, 1, 0, 0, 0, 0, 0]), Buffer.from('{')]),
      'truncated',
    ],
  ])('are refused where there is %s', async (_, content, words) => {
    const path = join(folder, 'wrong.safetensors')
    await writeFile(path, content)
    await expect(painterPlan(path)).rejects.toMatchObject({
      code: 'model_file_invalid',
      message: expect.stringContaining(words) as string,
    })
  })

  it('are GGUF or safetensors, and no folder', async () => {
    const path = join(folder, 'model.gguf')
    await writeFile(path, 'GGUF and more')
    expect((await painterPlan(path)).facts).toMatchObject({ format: 'gguf', purpose: 'image', fileSize: 13 })
    await truncate(path, 0)
    await expect(painterPlan(folder)).rejects.toMatchObject({ code: 'model_file_invalid' })
  })
})
