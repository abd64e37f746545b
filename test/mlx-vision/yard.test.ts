import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installedMlx } from '../../src/engines/mlx/find-mlx.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { dataUri, png, RED } from '../models/tiny-image.ts'
import { HI } from '../models/tiny-vision.ts'
import { MISSING, removeFolder, TINY_VISION, VISION_ENGINES } from './fixtures.ts'

const ANSWER = 'Hello, how are you today?'

describe.skipIf(MISSING !== undefined)('images in messages of every API, to a model in mlx-vlm', () => {
  let yard: Yard | undefined
  let url: string
  let home: string
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'modelyard-vision-home-'))
    const { python } = installedMlx(VISION_ENGINES)
    const seeing = { engine: 'mlx' as const, source: TINY_VISION, context: 1024 }
    const models = { eyes: { ...seeing, python }, none: seeing }
    yard = await createYard({ home, models })
    ;({ url } = await yard.listen({ host: '127.0.0.1', port: 0 }))
  })
  afterAll(async () => {
    await yard?.stop({ deadline: 0 })
    await rm(home, { recursive: true, force: true })
    await removeFolder()
  })

  async function post(path: string, body: object): Promise<{ status: number; body: unknown }> {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'eyes', ...body }),
    })
    return { status: answer.status, body: await answer.json() }
  }

  /** By OpenAI's chat API. */
  async function shown(link: string, model = 'eyes'): Promise<{ status: number; body: unknown }> {
    const content = [{ type: 'image_url', image_url: { url: link } }]
    return await post('/v1/chat/completions', {
      model,
      temperature: 0,
      messages: [{ role: 'user', content }],
    })
  }

  it('OpenAI’s, streamed and whole', async () => {
    expect(await shown(dataUri(HI))).toMatchObject({
      status: 200,
      body: { choices: [{ message: { content: ANSWER } }], usage: { prompt_tokens: 12 } },
    })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })
    const content = [{ type: 'image_url' as const, image_url: { url: dataUri(HI) } }]
    const messages = [{ role: 'user' as const, content }]
    const stream = await client.chat.completions.create({
      model: 'eyes',
      temperature: 0,
      stream: true,
      messages,
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(ANSWER)
  })

  it('Anthropic’s and Ollama’s, which count them, too', async () => {
    const data = Buffer.from(HI).toString('base64')
    const source = { type: 'base64', media_type: 'image/png', data }
    const messages = [{ role: 'user', content: [{ type: 'image', source }] }]
    const said = await post('/v1/messages', { messages, max_tokens: 20, temperature: 0 })
    expect(said.body).toMatchObject({ content: [{ type: 'text', text: ANSWER }] })
    const counted = await post('/v1/messages/count_tokens', { messages })
    expect(counted.body).toEqual({ input_tokens: 12 })
    const turn = { role: 'user', content: '', images: [data] }
    const chat = await post('/api/chat', { messages: [turn], stream: false, options: { temperature: 0 } })
    expect(chat.body).toMatchObject({ message: { content: ANSWER }, prompt_eval_count: 12 })
  })

  it.each([
    ['https://example.com/a.png', /remote URL, which this server does not fetch/],
    ['file:///etc/passwd', /must be a data URI/],
    ['/etc/passwd', /must be a data URI/],
    [dataUri(HI.subarray(0, 60)), /Image 1 of 1 is damaged/],
    [dataUri(new TextEncoder().encode('<svg/>')), /cannot be read; send PNG/],
    [dataUri(png(28 * 300, 28, RED)), /cannot be shown these images/],
  ])('%.30s is a 400 with its reason, and no other answer is harmed', async (link, words) => {
    const [wrong, right] = await Promise.all([shown(link), shown(dataUri(HI))])
    expect(wrong).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(words) as string, type: 'invalid_request_error' } },
    })
    expect(right).toMatchObject({ body: { choices: [{ message: { content: ANSWER } }] } })
  })

  it('without mlx-vlm, a 400 that says what to type', async () => {
    expect(await shown(dataUri(HI), 'none')).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('engines install mlx --vision') as string } },
    })
  })
})
