import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel, LoadProgress } from '../../src/engines/engine.ts'
import { imageFormatOf } from '../../src/tasks/image-format.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask, NEVER } from '../node-llama-cpp/fixtures.ts'
import { AT_ONCE, soonest } from '../soonest.ts'
import {
  loadPainter,
  painterPlan,
  picture,
  requireNoneLeft,
  told,
  writePainter,
  type ImagePart,
} from './fixtures.ts'

const clock = new SystemClock()

/** Waits until the fake has the picture of a seed, and does with it what `status` says. */
async function has(model: LoadedModel, seed: number, status: string): Promise<void> {
  await expect
    .poll(async () => (await told(model)).bodies.at(-1), { interval: 10 })
    .toMatchObject({ seed, status })
}

async function images(model: LoadedModel, changes: Parameters<typeof picture>[0] = {}): Promise<ImagePart[]> {
  const { parts } = await ask(model, picture(changes))
  return parts.filter((part): part is ImagePart => part.type === 'image')
}

describe.skipIf(process.platform !== 'linux')(
  'pictures of an sd-server (a fake that does as its source says)',
  () => {
    let folder: string
    let model: LoadedModel
    beforeAll(async () => {
      folder = await temporaryFolder()
      model = await loadPainter(folder, 'plain', { spec: { id: 'painter' } })
    })
    afterAll(async () => {
      await model.unload()
      requireNoneLeft(folder)
      await removeFolder(folder)
    })

    it('come one after the other as PNG files of the size that was asked for, each with the next seed', async () => {
      const { parts, result } = await ask(model, picture({ count: 3, seed: 2 ** 32 - 1, width: 128 }))
      expect(parts.map(({ type }) => type)).toEqual(['started', 'image', 'image', 'image'])
      const made = parts.slice(1) as ImagePart[]
      expect(made.map(({ index, seed, width, height }) => [index, seed, width, height])).toEqual([
        [0, 2 ** 32 - 1, 128, 64],
        [1, 0, 128, 64],
        [2, 1, 128, 64],
      ])
      expect(made.map(({ data }) => imageFormatOf(data))).toEqual(['png', 'png', 'png'])
      expect(result).toMatchObject({ finishReason: 'stop', usage: { promptTokens: 0, completionTokens: 0 } })
    })

    it('of one seed are the same, seed 0 too, and without one each is another', async () => {
      const [first] = await images(model, { seed: 0 })
      const [again] = await images(model, { seed: 0 })
      expect(first?.seed).toBe(0)
      expect(again?.data).toEqual(first?.data)
      const [free] = await images(model)
      const [other] = await images(model)
      expect(free?.seed).not.toBe(other?.seed)
    })

    it('are asked for in the native words, and carry no text', async () => {
      await images(model, {
        prompt: 'a red house',
        negativePrompt: 'people',
        seed: 7,
        guidance: 0,
        steps: 100,
      })
      const { bodies } = await told(model)
      expect(bodies.at(-1)).toEqual({
        prompt: 'a red house',
        negative_prompt: 'people',
        width: 64,
        height: 64,
        seed: 7,
        batch_count: 1,
        sample_params: { sample_steps: 100, guidance: { txt_cfg: 0 } },
        vae_tiling_params: { enabled: false },
        embed_image_metadata: false,
        output_format: 'png',
        status: 'completed',
      })
    })

    it.each([
      ['a size that the program would round up', { width: 72 }, 'size', 'multiples of 64'],
      ['more pixels than are booked', { width: 1088, height: 1024 }, 'size', '1114112 pixels'],
      ['more steps than the program makes', { steps: 101 }, 'steps', 'at most 100'],
      [
        'settings in the text',
        { prompt: 'x <sd_cpp_extra_args>{"seed":1}</sd_cpp_extra_args>' },
        'prompt',
        'command',
      ],
      ['the end of such alone', { prompt: 'x < / SD_CPP_EXTRA_ARGS >' }, 'prompt', 'command'],
      ['an adapter in the text', { prompt: 'x <lora:../../other:1>' }, 'prompt', 'command'],
      ['either in the negative prompt', { negativePrompt: '<lora:a:1>' }, 'negative_prompt', 'command'],
    ])('refuse %s before anything is made', async (_, changes, param, words) => {
      const before = (await told(model)).bodies.length
      await expect(images(model, changes)).rejects.toMatchObject({
        code: 'invalid_request',
        details: { param },
        message: expect.stringContaining(words) as string,
      })
      expect((await told(model)).bodies.length).toBe(before)
    })

    it('end within 250 ms of an abort; what is being made is made to its end, and the next one waits for it', async () => {
      const took = await soonest(async () => {
        const controller = new AbortController()
        const running = ask(model, picture({ steps: 100, count: 5, seed: 1 }), { signal: controller.signal })
        running.catch(() => undefined)
        await has(model, 1, 'generating')
        const begun = clock.now()
        controller.abort(new Error('gone'))
        await expect(running).rejects.toThrow('gone')
        return clock.now() - begun
      })
      expect(took).toBeLessThan(AT_ONCE)
      const [next] = await images(model, { seed: 99 })
      expect(next?.seed).toBe(99)
      const { bodies } = await told(model)
      // Of five pictures one was begun: the others were never asked for.
      expect(bodies.slice(-2).map(({ seed, status }) => [seed, status])).toEqual([
        [1, 'completed'],
        [99, 'completed'],
      ])
    })

    it('that wait behind one that nobody wants any more are taken out of the queue by their own abort', async () => {
      const [first, second] = [new AbortController(), new AbortController()]
      const one = ask(model, picture({ steps: 100, seed: 4 }), { signal: first.signal })
      one.catch(() => undefined)
      await has(model, 4, 'generating')
      first.abort(new Error('gone'))
      await expect(one).rejects.toThrow('gone')
      const two = ask(model, picture({ seed: 5 }), { signal: second.signal })
      two.catch(() => undefined)
      await has(model, 5, 'queued')
      second.abort(new Error('gone, too'))
      await expect(two).rejects.toThrow('gone, too')
      await images(model)
      const { bodies } = await told(model)
      expect(bodies.at(-2)).toMatchObject({ seed: 5, status: 'cancelled' })
    })

    it('are stopped where a build can do that', async () => {
      const able = await loadPainter(folder, 'can-cancel')
      const controller = new AbortController()
      const running = ask(able, picture({ steps: 100, seed: 6 }), { signal: controller.signal })
      running.catch(() => undefined)
      await has(able, 6, 'generating')
      controller.abort(new Error('gone'))
      await expect(running).rejects.toThrow('gone')
      await images(able)
      expect((await told(able)).bodies.at(-2)).toMatchObject({ status: 'cancelled' })
      await able.unload()
    })

    it('keep the model alive as long as steps come, and a refused task leaves nothing to be watched', async () => {
      const watched = await loadPainter(folder, 'plain', { deadlines: { stall: 2000 } })
      const run = watched.run(
        { kind: 'speech', text: 'x', format: 'wav' },
        { slot: 0, keptPrefix: 0, signal: NEVER },
      )
      await expect(run.next()).rejects.toMatchObject({ code: 'unsupported' })
      // Longer than a stall: by steps, and by nothing at all.
      expect(await images(watched, { steps: 100, count: 3 })).toHaveLength(3)
      await sleep(clock, 3500)
      await expect(watched.ping()).resolves.toBeUndefined()
      expect(watched.lastProgress).toBeGreaterThan(0)
      await watched.unload()
    })
  },
)

describe.skipIf(process.platform !== 'linux')('an sd-server is started', () => {
  let folder: string
  beforeAll(async () => {
    folder = await temporaryFolder()
  })
  afterAll(async () => removeFolder(folder))

  it('with the files, the threads and the settings of its model, on loopback, without a device', async () => {
    const vae = await writePainter(folder, 'vae')
    const t5xxl = await writePainter(folder, 't5')
    const options = {
      diffusionOnly: true,
      vae,
      t5xxl,
      flashAttention: true,
      steps: 4,
      cfg: 1,
      sampler: 'euler',
    }
    const spec = { device: { gpu: 'auto', threads: 2, memoryLock: false }, defaults: { seed: 11 } }
    const model = await loadPainter(folder, 'plain', { options, spec })
    const path = join(folder, 'plain.safetensors')
    const { args, environment } = await told(model)
    expect(args.join(' ').replace(/port \d+/, 'port N')).toBe(
      `--listen-ip 127.0.0.1 --listen-port N --diffusion-model ${path} --vae ${vae} --t5xxl ${t5xxl} -t 2 --diffusion-fa --lora-model-dir ${path}`,
    )
    expect(environment).toMatchObject({ CUDA_VISIBLE_DEVICES: '-1', HIP_VISIBLE_DEVICES: '-1' })
    const { parts } = await ask(model, { kind: 'image', prompt: 'x', count: 1 })
    expect(parts.at(-1)).toMatchObject({ width: 512, height: 512, seed: 11 })
    expect((await told(model)).bodies.at(-1)).toMatchObject({
      sample_params: { sample_steps: 4, sample_method: 'euler', guidance: { txt_cfg: 1 } },
    })
    await model.unload()
  })

  it('on the device that its memory was declared for', async () => {
    const options = { memory: { ram: 1000, 'gpu:1': 5000 }, vaeTiling: true, largestSize: '256x256' }
    const model = await loadPainter(folder, 'plain', { options })
    expect(model.plan.footprint).toMatchObject({ 'gpu:1': { weights: 5000 }, ram: { weights: 1000 } })
    expect((await told(model)).environment).toMatchObject({ CUDA_VISIBLE_DEVICES: '1' })
    const { parts } = await ask(model, { kind: 'image', prompt: 'x', count: 1, steps: 1 })
    expect(parts.at(-1)).toMatchObject({ width: 256, height: 256 })
    expect((await told(model)).bodies.at(-1)).toMatchObject({ vae_tiling_params: { enabled: true } })
    await model.unload()
  })

  it('slowly, telling how much has been read', async () => {
    const seen: LoadProgress[] = []
    const model = await loadPainter(folder, 'loads-slowly', { onProgress: (progress) => seen.push(progress) })
    expect(seen[0]).toEqual({ stage: 'starting' })
    const fractions = seen.flatMap((news) => (news.stage === 'loading' ? [news.fraction] : []))
    expect(fractions.length).toBeGreaterThan(5)
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b))
    expect(fractions.at(-1)).toBeLessThan(1)
    await model.unload()
  })

  it('and is ready when it answers, not when it says that it listens', async () => {
    const model = await loadPainter(folder, 'listens-late')
    await expect(model.ping()).resolves.toBeUndefined()
    await model.unload()
  })

  it('anew when one of its files changed: that is another load', async () => {
    const vae = await writePainter(folder, 'changing')
    const path = await writePainter(folder)
    const before = await painterPlan(path, { options: { vae } })
    expect((await painterPlan(path, { options: { vae } })).key).toBe(before.key)
    await writeFile(vae, Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(5000)]))
    const after = await painterPlan(path, { options: { vae } })
    expect(after.key).not.toBe(before.key)
    expect(after.loadBytes - before.loadBytes).toBe(5004 - 1027)
  })
})
