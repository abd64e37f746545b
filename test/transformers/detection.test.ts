import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { BLUE, dataUri, png, RED, type Colour } from '../models/tiny-image.ts'
import { writeDetector } from '../models/tiny-onnx.ts'
import { HAS_TRANSFORMERS, listeningYard } from './fixtures.ts'

const BLACK: Colour = [0, 0, 0]

describe.runIf(HAS_TRANSFORMERS)('E1: detection on the engine transformers', () => {
  let url = ''
  let yard: Yard
  let close: () => Promise<void>
  beforeAll(async () => {
    const models = (folder: string) => ({ finder: { source: writeDetector(join(folder, 'finder')) } })
    ;({ yard, url, close } = await listeningYard(models))
  })
  afterAll(async () => close())

  async function post(body: object): Promise<{ status: number; body: unknown }> {
    const answer = await fetch(`${url}/api/yard/detect`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'finder', ...body }),
    })
    return { status: answer.status, body: await answer.json() }
  }

  it('says what is where, in pixels of the image that was sent, never outside of it', async () => {
    const { objects } = await yard.detect({ model: 'finder', image: png(200, 100, RED, BLUE) })
    expect(Object.fromEntries(objects.map(({ label, box }) => [label, box]))).toEqual({
      red: { left: 0, top: 0, right: 100, bottom: 100 },
      blue: { left: 100, top: 0, right: 200, bottom: 100 },
    })
    expect(objects[0]?.score).toBeGreaterThan(0.9)
  })

  it('says it in pixels of a large image, too, of which the model sees a smaller one', async () => {
    const { objects } = await yard.detect({ model: 'finder', image: png(6000, 60, RED, BLUE) })
    expect(Object.fromEntries(objects.map(({ label, box }) => [label, box]))).toEqual({
      red: { left: 0, top: 0, right: 3000, bottom: 60 },
      blue: { left: 3000, top: 0, right: 6000, bottom: 60 },
    })
  })

  it('answers over HTTP, and leaves out what is less likely than asked for', async () => {
    const image = dataUri(png(32, 32, BLACK, [0, 160, 0]))
    expect(await post({ image })).toEqual({
      status: 200,
      body: {
        model: 'finder',
        objects: [
          {
            label: 'green',
            score: expect.closeTo(0.78, 1) as number,
            box: { left: 16, top: 0, right: 32, bottom: 32 },
          },
        ],
        usage: { prompt_tokens: 0, total_tokens: 0 },
      },
    })
    expect(await post({ image, threshold: 0.95 })).toMatchObject({ status: 200, body: { objects: [] } })
  })

  it.each([
    ['no image', {}, 'image'],
    ['half an image', { image: dataUri(png(64, 64, RED).subarray(0, 60)) }, 'image'],
    ['an impossible threshold', { image: dataUri(png(2, 2, RED)), threshold: 2 }, 'threshold'],
    ['a field that there is not', { image: dataUri(png(2, 2, RED)), treshold: 0.5 }, 'treshold'],
  ])('%s is a 400 that names the field', async (_, body, param) => {
    expect(await post(body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { param } } },
    })
  })

  it('other tasks are refused for what the model is for', async () => {
    const asked = yard.classify({ model: 'finder', input: png(2, 2, RED) })
    await expect(asked).rejects.toMatchObject({ code: 'unsupported' })
  })
})
