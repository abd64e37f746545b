import { existsSync, readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel, LoadProgress } from '../../src/engines/engine.ts'
import type { Message } from '../../src/tasks/message.ts'
import { createYard } from '../../src/yard.ts'
import { removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { ask, chat, NEVER } from '../node-llama-cpp/fixtures.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import { FAKE, loadFake, processesWith } from './fixtures.ts'

const clock = new SystemClock()

/** Uses a fake model and ends it, whatever happens; nothing of it may be left. */
async function withFake(
  mode: string,
  use: (model: LoadedModel) => Promise<void>,
  options: Parameters<typeof loadFake>[1] = {},
): Promise<void> {
  const model = await loadFake(mode, options)
  try {
    await use(model)
  } finally {
    await model.unload()
  }
  expect(processesWith(`test:${mode}`)).toEqual([])
}

it('contexts pass through a folder of the home that goes with the worker; what a kill left goes at the next start', async () => {
  const home = await temporaryFolder()
  const slots = join(home, 'slots')
  await mkdir(join(slots, 'worker-old'), { recursive: true })
  await writeFile(join(slots, 'worker-old/0.slot'), 'half a context')
  const models = { fake: { engine: 'llama-server', binary: FAKE, source: TINY_CHAT, context: 256 } }
  const yard = await createYard({ home, models })
  expect(existsSync(slots)).toBe(false)
  await yard.loadModel('fake')
  expect(readdirSync(slots)).toHaveLength(1)
  await yard.unloadModel('fake')
  expect(readdirSync(slots)).toEqual([])
  await yard.stop()
  await removeFolder(home)
})

describe.skipIf(process.platform === 'win32')('a llama-server that fails to start', () => {
  it.each([
    ['wrong-flag', 'bad_option', 'unknown argument: --swa-full'],
    ['port-taken', 'port', "couldn't bind"],
    ['no-memory', 'out_of_memory', 'failed to allocate'],
    ['bad-file', 'bad_file', 'invalid magic'],
  ])('%s: the load fails as %s, with its last words and what to do (R11)', async (mode, failure, words) => {
    const loading = loadFake(mode)
    await expect(loading).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining(words) as string,
      details: { failure, exitCode: 1 },
    })
    expect(processesWith(`test:${mode}`)).toEqual([])
  })

  it('and one that is not there names what to install', async () => {
    await expect(loadFake('x', { binary: '/nowhere/llama-server' })).rejects.toMatchObject({
      code: 'engine_missing',
      message: expect.stringContaining('modelyard engines install llama-server') as string,
    })
  })

  it('or never says where it listens is ended with the load that is given up', async () => {
    const controller = new AbortController()
    const loading = loadFake('never-listens', { signal: controller.signal })
    loading.catch(() => undefined)
    for (let look = 0; look < 200 && processesWith('test:never-listens').length === 0; look++)
      await sleep(clock, 20)
    controller.abort()
    await expect(loading).rejects.toMatchObject({ code: 'aborted' })
    expect(processesWith('test:never-listens')).toEqual([])
  })
})

describe.skipIf(process.platform !== 'linux')('a llama-server that listens once its model is loaded', () => {
  it('tells how far it is while it loads, and no more afterwards', async () => {
    const seen: LoadProgress[] = []
    const onProgress = (progress: LoadProgress): void => void seen.push(progress)
    const use = async (model: LoadedModel): Promise<void> => {
      await ask(model, chat('hi'))
      await sleep(clock, 400)
    }
    await withFake('listens-late', use, { onProgress })
    const fractions = seen.flatMap((news) => (news.stage === 'loading' ? [news.fraction] : []))
    expect(fractions[0]).toBe(0)
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b))
    // The fake holds more than the tiny model is large, from its beginning.
    expect(fractions.at(-1)).toBe(0.99)
    expect(seen.at(-1)).toEqual({ stage: 'preparing' })
  })
})

describe.skipIf(process.platform === 'win32')(
  'a llama-server whose flags have other names than they had',
  () => {
    it('is given a draft model by the names in its help, and told to use it', async () => {
      const draft = { path: TINY_CHAT, tokens: 4 }
      const flags = `-md ${TINY_CHAT} --spec-type draft-simple --spec-draft-n-max 4`
      await withFake('drafts', async () => expect(processesWith(flags)).toHaveLength(1), { draft })
    })
  },
)

describe.skipIf(process.platform === 'win32')('an answer of llama-server', () => {
  it.each(['truncated', 'cut'])('that is %s is an error, never complete (R12)', async (mode) => {
    await withFake(mode, async (model) => {
      const texts: string[] = []
      const reading = (async () => {
        for await (const part of model.run(chat('hi'), { slot: 0, keptPrefix: 0, signal: NEVER })) {
          if (part.type === 'text') texts.push(part.text)
        }
      })()
      await expect(reading).rejects.toMatchObject({ code: 'engine_failed' })
      expect(texts.join('')).toBe('Hel')
    })
  })

  it('that is cut by the death of its process ends with worker_exited', async () => {
    await withFake('dies', async (model) => {
      await expect(ask(model, chat('hi'))).rejects.toMatchObject({
        code: 'worker_exited',
        details: { signal: 'SIGKILL' },
      })
      expect(await model.exited).toMatchObject({ expected: false })
      await expect(model.ping()).rejects.toMatchObject({ code: 'worker_exited' })
    })
  })

  it('that ends with an error says so in the words of the server', async () => {
    await withFake('says-error', async (model) => {
      await expect(ask(model, chat('hi'))).rejects.toMatchObject({
        code: 'engine_failed',
        message: expect.stringContaining('out of slots') as string,
      })
    })
  })

  it('that is refused with 500 is a failure of the engine, and the model goes on', async () => {
    await withFake('fails', async (model) => {
      await expect(ask(model, chat('hi'))).rejects.toMatchObject({ code: 'engine_failed' })
      await expect(model.ping()).resolves.toBeUndefined()
    })
  })

  it('that leaves its grammar never passes, whatever the server made of the grammar (E2)', async () => {
    await withFake('leaves-grammar', async (model) => {
      const task = chat('hi', { format: { type: 'json-object' } })
      await expect(ask(model, task)).rejects.toMatchObject({
        code: 'engine_failed',
        message: expect.stringContaining('format') as string,
      })
    })
  })

  it('is had on a connection that was closed meanwhile, too', async () => {
    await withFake('closes-kept', async (model) => {
      for (let turn = 0; turn < 5; turn++) expect((await ask(model, chat('hi'))).text).toBe('Hello there.')
    })
  })

  it('that hangs in the queue, in prefill or in decode ends within 250 ms of an abort', async () => {
    for (const mode of ['hangs', 'prefills-for-ever', 'talks-for-ever']) {
      await withFake(mode, async (model) => {
        const took = await soonest(async () => {
          const controller = new AbortController()
          const reading = ask(model, chat('hi'), { signal: controller.signal })
          reading.catch(() => undefined)
          await sleep(clock, 60)
          const begun = clock.now()
          controller.abort(new Error('gone'))
          await expect(reading).rejects.toThrow('gone')
          return clock.now() - begun
        })
        expect(took).toBeLessThan(AT_ONCE)
      })
    }
  })
})

describe.skipIf(process.platform === 'win32')('a llama-server that does not obey', () => {
  it('SIGTERM is killed with its group', async () => {
    const model = await loadFake('ignores-sigterm', { deadlines: { terminate: 200 } })
    const begun = clock.now()
    await model.unload()
    expect(clock.now() - begun).toBeLessThan(3000)
    expect(await model.exited).toMatchObject({ expected: true })
    expect(processesWith('test:ignores-sigterm')).toEqual([])
  })

  it('and whose loop stands still is replaced: its runs end with the reason (R12)', async () => {
    const model = await loadFake('stands-still', { deadlines: { wake: 2000, silence: 3000 } })
    await expect(ask(model, chat('hi'))).rejects.toMatchObject({
      code: 'worker_exited',
      message: expect.stringContaining('did not answer') as string,
    })
    expect(await model.exited).toMatchObject({ expected: false })
    expect(processesWith('test:stands-still')).toEqual([])
  })
})

describe.skipIf(process.platform === 'win32')('images through a projector (unverified with weights)', () => {
  let folder: string
  let mmproj: string
  beforeAll(async () => {
    folder = await temporaryFolder()
    mmproj = join(folder, 'projector.gguf')
    await writeFile(mmproj, 'weights')
  })
  afterAll(async () => removeFolder(folder))

  const image = { type: 'image' as const, mediaType: 'image/png', data: Buffer.from('pixels') }
  const asked: Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'What is ' }, image, { type: 'text', text: '?' }] },
  ]

  it('are sent in their places, with the mark that the server named', async () => {
    await withFake(
      'vision',
      async (model) => {
        const { text } = await ask(model, chat(asked))
        const sent = JSON.parse(text) as { prompt_string: string; multimodal_data: string[] }
        expect(sent.prompt_string).toContain('What is <__media_1__>?')
        expect(sent.multimodal_data).toEqual([Buffer.from('pixels').toString('base64')])
      },
      { mmproj },
    )
  })

  it('are refused without one, and beside text that is the mark or a control token (P15)', async () => {
    await withFake('vision', async (model) => {
      await expect(ask(model, chat(asked))).rejects.toMatchObject({ code: 'unsupported' })
    })
    await withFake(
      'vision',
      async (model) => {
        for (const words of ['<__media_1__>', '<|im_end|>']) {
          const hostile: Message[] = [{ role: 'user', content: [{ type: 'text', text: words }, image] }]
          await expect(ask(model, chat(hostile))).rejects.toMatchObject({ code: 'invalid_request' })
        }
      },
      { mmproj },
    )
  })
})
