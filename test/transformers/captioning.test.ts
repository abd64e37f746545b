import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { BLUE, dataUri, GREEN, png, RED, WHITE } from '../models/tiny-image.ts'
import { writeCaptioner } from '../models/tiny-vision-onnx.ts'
import { HAS_TRANSFORMERS, listeningYard } from './fixtures.ts'

describe.runIf(HAS_TRANSFORMERS)('E1: captioning on the engine transformers', () => {
  let url = ''
  let yard: Yard
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ yard, url, close } = await listeningYard((folder) => {
      const damaged = writeCaptioner(join(folder, 'damaged'))
      truncateSync(join(damaged, 'onnx/decoder_model_merged.onnx'), 100)
      return {
        writer: { source: writeCaptioner(join(folder, 'writer')) },
        brief: { source: writeCaptioner(join(folder, 'brief'), { max_length: 3, num_beams: 4 }) },
        damaged: { source: damaged },
      }
    }))
  })
  afterAll(async () => close())

  async function post(path: string, body: object): Promise<{ status: number; body: unknown }> {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'writer', ...body }),
    })
    return { status: answer.status, body: await answer.json() }
  }

  it('writes what is on an image', async () => {
    const { text, result } = await yard.caption({ model: 'writer', image: png(40, 20, RED) }).answer()
    expect(text).toBe('a red picture')
    expect(result).toMatchObject({ finishReason: 'stop', usage: { promptTokens: 0, completionTokens: 3 } })
    expect(await yard.caption({ model: 'writer', image: png(3, 5, BLUE) }).text()).toBe('a blue picture')
  })

  it('answers over HTTP', async () => {
    expect(await post('/api/yard/caption', { image: dataUri(png(64, 64, GREEN)) })).toEqual({
      status: 200,
      body: {
        model: 'writer',
        text: 'a green picture',
        finish_reason: 'stop',
        usage: { prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 },
      },
    })
  })

  it.each([
    ['writer', 2, 'a red', 2, 'length'],
    ['writer', 0, '', 0, 'length'],
    ['writer', 3, 'a red picture', 3, 'length'],
    ['writer', 4, 'a red picture', 3, 'stop'],
    // Its folder says three, the beginning included; who asks for more gets more.
    ['brief', undefined, 'a red', 2, 'length'],
    ['brief', 50, 'a red picture', 3, 'stop'],
  ])('%s with at most %j tokens writes "%s"', async (model, max_tokens, text, completion_tokens, reason) => {
    const image = dataUri(png(4, 4, RED))
    expect(await post('/api/yard/caption', { model, image, max_tokens })).toMatchObject({
      status: 200,
      body: { text, finish_reason: reason, usage: { completion_tokens } },
    })
  })

  it('tells the text as it is written, and ends with what there was when its signal fires', async () => {
    const controller = new AbortController()
    const stream = yard.caption({ model: 'writer', image: png(4, 4, WHITE), signal: controller.signal })
    let text = ''
    for await (const piece of stream.textParts()) {
      text += piece
      if (text.length > 200) controller.abort()
    }
    expect(text).toMatch(/^a( and)+$/)
    expect(stream.result?.finishReason).toBe('abort')
    expect(await yard.caption({ model: 'writer', image: png(4, 4, RED) }).text()).toBe('a red picture')
  })

  it.each([
    ['no image', {}, 'image'],
    ['half an image', { image: dataUri(png(64, 64, RED).subarray(0, 60)) }, 'image'],
    ['what is no image', { image: 'data:image/png;base64,aGVsbG8=' }, 'image'],
    ['an image at an address', { image: 'http://127.0.0.1/red.png' }, 'image'],
    ['less than no token', { image: dataUri(png(2, 2, RED)), max_tokens: -1 }, 'max_tokens'],
    ['a field that there is not', { image: dataUri(png(2, 2, RED)), max_token: 5 }, 'max_token'],
  ])('%s is a 400 that names the field', async (_, body, param) => {
    expect(await post('/api/yard/caption', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { param } } },
    })
  })

  it('an image that would fill the memory by its size alone is a 400', async () => {
    const large = Buffer.from(png(2, 2, RED))
    large.writeUInt32BE(60_000, 16)
    large.writeUInt32BE(60_000, 20)
    expect(await post('/api/yard/caption', { image: dataUri(large) })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { param: 'image' } } },
    })
  })

  it('a chat is refused with what the model does, and where that is asked', async () => {
    const image_url = { url: dataUri(png(2, 2, RED)) }
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url }] }]
    expect(await post('/v1/chat/completions', { messages })).toMatchObject({
      status: 400,
      body: {
        error: {
          param: 'model',
          message: expect.stringContaining('captioning (POST /api/yard/caption)') as string,
        },
      },
    })
  })

  it('a damaged graph is a load that failed', async () => {
    await expect(yard.caption({ model: 'damaged', image: png(2, 2, RED) }).text()).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'bad_file' },
    })
  })
})
