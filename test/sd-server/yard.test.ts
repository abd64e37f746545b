import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelInput } from '../../src/config/configuration-input.ts'
import { HttpYardClient } from '../../src/cli/http-yard-client.ts'
import { examineSdServers } from '../../src/cli/doctor/software-checks.ts'
import { imageFormatOf } from '../../src/tasks/image-format.ts'
import type { Yard } from '../../src/yard.ts'
import { processesWith } from '../llama-server/fixtures.ts'
import { specOf } from '../node-llama-cpp/fixtures.ts'
import { isRunning, ownYards, sleep, until } from '../yard/harness.ts'
import { listeningYard, type ListeningYard } from '../transformers/fixtures.ts'
import { FAKE_SD_SERVER, putOnPath, requireNoneLeft, writePainter } from './fixtures.ts'

/** Small enough that what is booked for it fits beside all else. */
function entry(file: string, options: Record<string, unknown> = {}): ModelInput {
  return {
    engine: 'sd-server',
    file,
    binary: FAKE_SD_SERVER,
    largestSize: '256x256',
    size: '128x64',
    ...options,
  }
}

const LONG = { model: 'm', prompt: 'x', steps: 100 }

describe.skipIf(process.platform !== 'linux')('POST /v1/images/generations (of a fake sd-server)', () => {
  let served: ListeningYard
  let client: OpenAI
  let folder = ''
  beforeAll(async () => {
    const files = new Map<string, Promise<string>>()
    served = await listeningYard((home) => {
      folder = home
      for (const mode of ['plain', 'fails']) files.set(mode, writePainter(home, mode))
      return {
        painter: entry(join(home, 'plain.safetensors'), { aliases: 'dall-e-2' }),
        fails: entry(join(home, 'fails.safetensors')),
        talker: { engine: 'scripted', script: [{ text: 'hi' }] },
      }
    })
    await Promise.all(files.values())
    client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: 'none', maxRetries: 0 })
  })
  afterAll(async () => {
    await served.close()
    requireNoneLeft(folder)
  })

  const post = async (
    body: object,
    path = '/v1/images/generations',
  ): Promise<{ status: number; error: Record<string, unknown> }> => {
    const answer = await fetch(`${served.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { error = {} } = (await answer.json()) as { error?: Record<string, unknown> }
    return { status: answer.status, error }
  }

  it('answers the official SDK with images as base64, their size, and their seeds', async () => {
    const before = Math.floor(Date.now() / 1000)
    const asked = { model: 'painter', prompt: 'a red house', n: 2, size: '256x128', seed: 0 }
    const { data = [], created, size, output_format } = await client.images.generate(asked)
    expect(created).toBeGreaterThanOrEqual(before)
    expect([size, output_format]).toEqual(['256x128', 'png'])
    expect(data.map((image) => (image as { seed?: number }).seed)).toEqual([0, 1])
    for (const { b64_json: image = '', url } of data) {
      const bytes = Buffer.from(image, 'base64')
      expect([imageFormatOf(bytes), bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([
        'png',
        256,
        128,
      ])
      expect(url).toBeUndefined()
    }
    expect(data[0]?.b64_json).not.toBe(data[1]?.b64_json)
  })

  it('makes one image of the model’s own size where nothing is said, by an alias, with what asks for nothing', async () => {
    const { data = [], size } = await client.images.generate({
      model: 'dall-e-2',
      prompt: 'x',
      response_format: 'b64_json',
      output_format: 'png',
      output_compression: 100,
      background: 'opaque',
      quality: 'standard',
      moderation: 'low',
      size: 'auto',
      stream: false,
      partial_images: 0,
      style: null,
      user: 'somebody',
    })
    expect([data.length, size]).toEqual([1, '128x64'])
  })

  it.each<[string, object, number, string | null]>([
    ['no prompt', { prompt: undefined }, 400, 'prompt'],
    ['an empty prompt', { prompt: '' }, 400, 'prompt'],
    ['a prompt that is no text', { prompt: ['x'] }, 400, 'prompt'],
    ['a prompt of 32,001 characters', { prompt: 'x'.repeat(32_001) }, 400, 'prompt'],
    ['a command in the prompt', { prompt: '<sd_cpp_extra_args>{}</sd_cpp_extra_args>' }, 400, 'prompt'],
    ['a negative prompt that is no text', { negative_prompt: 5 }, 400, 'negative_prompt'],
    ['n: 0', { n: 0 }, 400, 'n'],
    ['n: 11', { n: 11 }, 400, 'n'],
    ['n: 1.5', { n: 1.5 }, 400, 'n'],
    ['a size of words', { size: 'large' }, 400, 'size'],
    ['a size of 0', { size: '0x0' }, 400, 'size'],
    ['a size that is no multiple of 8', { size: '100x100' }, 400, 'size'],
    ['a size that is no multiple of 64', { size: '72x72' }, 400, 'size'],
    ['a size beyond the model’s', { size: '1024x1024' }, 400, 'size'],
    ['a seed below 0', { seed: -1 }, 400, 'seed'],
    ['a seed that is too large', { seed: 2 ** 32 }, 400, 'seed'],
    ['steps: 0', { steps: 0 }, 400, 'steps'],
    ['steps: 101', { steps: 101 }, 400, 'steps'],
    ['a guidance below 0', { cfg_scale: -1 }, 400, 'cfg_scale'],
    ['a link instead of the image', { response_format: 'url' }, 501, 'response_format'],
    ['another quality', { quality: 'hd' }, 501, 'quality'],
    ['a style', { style: 'vivid' }, 501, 'style'],
    ['transparency', { background: 'transparent' }, 501, 'background'],
    ['another format', { output_format: 'webp' }, 501, 'output_format'],
    ['a compression', { output_compression: 50 }, 501, 'output_compression'],
    ['a compression that is none', { output_compression: 101 }, 400, 'output_compression'],
    ['a stream', { stream: true }, 501, 'stream'],
    ['partial images', { partial_images: 2 }, 501, 'partial_images'],
    ['partial images that are none', { partial_images: 9 }, 400, 'partial_images'],
    ['a model that writes', { model: 'talker' }, 400, 'model'],
    ['a model that is not there', { model: 'nobody' }, 404, null],
    ['no model', { model: undefined }, 400, 'model'],
  ])('refuses %s with the reason', async (_, changes, status, param) => {
    const { status: got, error } = await post({ model: 'painter', prompt: 'x', ...changes })
    expect([got, error['param']]).toEqual([status, param])
    expect(String(error['message'])).toMatch(/\.$/)
  })

  it('never repeats what was asked for in an error', async () => {
    const { error } = await post({ model: 'painter', prompt: 'secret <lora:secret:1>', size: '64x64' })
    expect(JSON.stringify(error)).not.toContain('secret')
    const failed = await post({ model: 'fails', prompt: 'secret' })
    expect([failed.status, JSON.stringify(failed.error).includes('secret')]).toEqual([500, false])
    expect(JSON.stringify(served.yard.state())).not.toContain('secret')
  })

  it.each(['/v1/images/edits', '/v1/images/variations'])(
    '%s is a 501 that says where images are made',
    async (path) => {
      const { status, error } = await post({ model: 'painter', prompt: 'x' }, path)
      expect([status, String(error['message'])]).toEqual([
        501,
        expect.stringContaining('/images/generations makes them'),
      ])
    },
  )

  it('is refused of a chat by such a model, as a chat is of it', async () => {
    const asking = client.chat.completions.create({
      model: 'painter',
      messages: [{ role: 'user', content: 'hi' }],
    })
    await expect(asking).rejects.toThrow(APIError)
    await expect(asking).rejects.toMatchObject({ status: expect.toBeOneOf([400, 501]) as number })
  })

  it('ends with its client: the next one waits for the one image that was begun', async () => {
    const alone = performance.now()
    await client.images.generate({ ...LONG, model: 'painter' } as never)
    const one = performance.now() - alone
    const controller = new AbortController()
    const gone = client.images.generate({ ...LONG, model: 'painter', n: 10 } as never, {
      signal: controller.signal,
    })
    gone.catch(() => undefined)
    await until(() => served.yard.state().runs.active === 1)
    await sleep(200)
    controller.abort()
    await expect(gone).rejects.toThrow('aborted')
    await until(() => served.yard.state().runs.active === 0)
    const begun = performance.now()
    await client.images.generate({ model: 'painter', prompt: 'x', size: '64x64' } as never)
    // One of ten was begun, not more.
    expect(performance.now() - begun).toBeLessThan(4 * one)
  })

  it('is there for the library, too: count, size and zero seed, and wrong options by their name', async () => {
    const { yard } = served
    const { images, usage, info } = await yard.generateImage({
      model: 'painter',
      prompt: 'x',
      size: '64x128',
      count: 2,
      seed: 0,
      steps: 1,
      guidance: 0,
    })
    expect(images.map(({ width, height, seed, mediaType }) => [width, height, seed, mediaType])).toEqual([
      [64, 128, 0, 'image/png'],
      [64, 128, 1, 'image/png'],
    ])
    expect([usage.completionTokens, info.instance]).toEqual([0, 'painter#1'])
    const base = { model: 'painter', prompt: 'x' }
    for (const [wrong, param] of [
      [{ ...base, prompt: '' }, 'prompt'],
      [{ ...base, count: 0 }, 'count'],
      [{ ...base, size: 'big' }, 'size'],
      [{ ...base, size: '64x72' }, 'size'],
      [{ ...base, size: '100x64' }, 'size'],
      [{ ...base, size: '0x0' }, 'size'],
      [{ ...base, sizes: '64x64' }, 'sizes'],
    ] as const) {
      await expect(yard.generateImage(wrong as never)).rejects.toMatchObject({ details: { param } })
    }
  })

  it('is there for a command attached to the server, with the same as the library’s', async () => {
    const attached = new HttpYardClient({ pid: process.pid, url: served.url }, async () => undefined)
    const { signal } = new AbortController()
    const wishes = {
      model: 'painter',
      prompt: 'x',
      size: '64x128',
      seed: 0,
      steps: 1,
      guidance: 0,
      negativePrompt: 'y',
      signal,
    }
    const bytes = Buffer.from(await attached.draw(wishes))
    expect([imageFormatOf(bytes), bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual(['png', 64, 128])
    await expect(attached.draw({ ...wishes, size: '72x72' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    expect(Buffer.from((await served.yard.generateImage(wishes)).images[0]?.data ?? [])).toEqual(bytes)
  })

  it('is of a model that says what it is: purpose, tasks, bytes, and one slot', async () => {
    const described = await served.yard.collection.describe('painter')
    expect(described).toMatchObject({ purpose: 'image', bytes: 1024, facts: { format: 'safetensors' } })
    expect(described.capabilities).toMatchObject({ tasks: ['image'], finishesAborted: true })
    const { instances } = served.yard.state()
    expect(instances.find(({ model }) => model === 'painter')?.slots).toHaveLength(1)
  })
})

describe.skipIf(process.platform !== 'linux')('a yard with an sd-server (a fake)', () => {
  const own = ownYards()

  async function open(mode = 'plain', options: Record<string, unknown> = {}): Promise<Yard> {
    const file = await writePainter(own.home.path, mode)
    return await own.open({ models: { m: entry(file, { keepAlive: -1, ...options }) } })
  }

  /** The worker that there is now, or is coming. */
  async function worker(): Promise<number> {
    await until(() => processesWith(`${own.home.path}/`).length > 0)
    return processesWith(`${own.home.path}/`)[0] ?? 0
  }

  /** Once no instance is there any more: booked bytes, tickets, runs, processes. */
  async function remains(yard: Yard): Promise<unknown[]> {
    await until(() => yard.state().instances.length === 0)
    const { memory, queue, runs } = yard.state()
    return [memory.ram?.booked, queue.length, runs.active, processesWith(`${own.home.path}/`)]
  }
  const NOTHING = [0, 0, 0, []]

  const ending = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'answered',
      (error: unknown) => (error as { code: string }).code,
    )

  it('loses nothing when the worker is killed while it is idle, and loads it anew', async () => {
    const yard = await open()
    expect(await ending(yard.generateImage({ model: 'm', prompt: 'x' }))).toBe('answered')
    process.kill(await worker(), 'SIGKILL')
    expect(await remains(yard)).toEqual(NOTHING)
    expect(await ending(yard.generateImage({ model: 'm', prompt: 'x' }))).toBe('answered')
  })

  it('answers who waits when it is killed while it loads', async () => {
    const yard = await open('loads-slowly')
    const waiting = ending(yard.generateImage({ model: 'm', prompt: 'x' }))
    process.kill(await worker(), 'SIGKILL')
    expect(await waiting).toBe('model_load_failed')
    expect(await remains(yard)).toEqual(NOTHING)
  })

  it('repeats a run unseen when it is killed while it makes the first image (R11)', async () => {
    const yard = await open()
    await yard.loadModel('m')
    const before = await worker()
    const running = yard.generateImage(LONG)
    await until(() => yard.state().runs.active === 1)
    await sleep(200)
    process.kill(before, 'SIGKILL')
    expect((await running).images).toHaveLength(1)
    expect(isRunning(before)).toBe(false)
    await yard.unloadModel('m')
    expect(await remains(yard)).toEqual(NOTHING)
  })

  it('cuts a run when it is unloaded by force, also with a kill in the middle', async () => {
    const yard = await open()
    await yard.loadModel('m')
    const running = ending(yard.generateImage(LONG))
    await until(() => yard.state().runs.active === 1)
    await sleep(100)
    const unloading = yard.unloadModel('m', { force: true })
    process.kill(await worker(), 'SIGKILL')
    await unloading
    expect(['run_cut', 'worker_exited', 'aborted']).toContain(await running)
    expect(await remains(yard)).toEqual(NOTHING)
  })

  it('ends a worker that ignores SIGTERM', async () => {
    const yard = await open('ignores-sigterm')
    await yard.loadModel('m')
    await yard.unloadModel('m')
    expect(await remains(yard)).toEqual(NOTHING)
  })

  it('never evicts a model that makes an image: who needs its memory waits for the image', async () => {
    const [first, second] = [
      await writePainter(own.home.path),
      await writePainter(own.home.path, 'can-cancel'),
    ]
    const yard = await own.open({
      memory: { budget: '900MiB' },
      models: { m: entry(first), other: entry(second) },
    })
    await yard.loadModel('m')
    const order: string[] = []
    const running = yard.generateImage(LONG).then(() => order.push('m'))
    await until(() => yard.state().runs.active === 1)
    const next = yard.generateImage({ model: 'other', prompt: 'x', steps: 1 }).then(() => order.push('other'))
    await Promise.all([running, next])
    expect(order).toEqual(['m', 'other'])
    expect(yard.state().instances.map(({ model }) => model)).toEqual(['other'])
  })

  it('refuses at once what can never fit, with the numbers', async () => {
    const file = await writePainter(own.home.path)
    const yard = await own.open({
      memory: { budget: '900MiB' },
      models: { m: entry(file, { largestSize: '2048x2048' }) },
    })
    await expect(yard.generateImage({ model: 'm', prompt: 'x' })).rejects.toMatchObject({
      code: 'model_too_large',
    })
  })

  it('refuses options that make no sense when the model is planned', async () => {
    const file = await writePainter(own.home.path)
    for (const wrong of [{ size: '512x512' }, { size: '100x64' }, { largestSize: '8192x64' }]) {
      const yard = await own.open({ models: { m: entry(file, wrong) } })
      await expect(yard.generateImage({ model: 'm', prompt: 'x' })).rejects.toMatchObject({
        code: 'config_invalid',
      })
      await yard.stop({ deadline: 0 })
    }
    const typo = own.open({ models: { m: entry(file, { vaeTilling: true }) } })
    await expect(typo).rejects.toThrow(/vaeTiling/)
  })
})

describe.skipIf(process.platform !== 'linux')('doctor', () => {
  const own = ownYards()

  it('names the sd-server that configured models run on, once each, and what to do where it is not there', async () => {
    const file = join(own.home.path, 'x')
    await writeFile(file, 'x')
    const named = specOf({ engine: 'sd-server', engineOptions: { binary: FAKE_SD_SERVER } })
    const missing = specOf({ engine: 'sd-server', engineOptions: { binary: '/nowhere/sd-server' } })
    const checks = await examineSdServers([named, named, missing, specOf()])
    expect(checks.map(({ status, found }) => [status, found])).toEqual([
      ['ok', `6b3edaa: ${FAKE_SD_SERVER}`],
      ['warning', 'There is no program /nowhere/sd-server.'],
    ])
    expect(await examineSdServers([specOf()])).toEqual([])
    const takeOff = await putOnPath(join(own.home.path, 'bin'))
    const [found] = await examineSdServers([specOf({ engine: 'sd-server' })])
    takeOff()
    expect(found).toMatchObject({ status: 'ok', found: expect.stringContaining('bin/sd-server') as string })
  })
})
