import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { BLUE, dataUri, GREEN, png, RED } from '../models/tiny-image.ts'
import { writeColourModel, writeEntailmentModel, writeMoodModel } from '../models/tiny-onnx.ts'
import { HAS_TRANSFORMERS, listeningYard } from './fixtures.ts'

/** A logit of `difference` more than the other. */
const share = (difference: number): number => 1 / (1 + Math.exp(-difference))

describe.runIf(HAS_TRANSFORMERS)('E1: classification on the engine transformers', () => {
  let url = ''
  let yard: Yard
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ yard, url, close } = await listeningYard((folder) => {
      const several = { problem_type: 'multi_label_classification' }
      const damaged = writeMoodModel(join(folder, 'damaged'))
      truncateSync(join(damaged, 'onnx/model.onnx'), 100)
      return {
        mood: { source: writeMoodModel(join(folder, 'mood')) },
        moods: { source: writeMoodModel(join(folder, 'moods'), several) },
        judge: { source: writeEntailmentModel(join(folder, 'judge')) },
        colours: { source: writeColourModel(join(folder, 'colours')) },
        damaged: { source: damaged },
      }
    }))
  })
  afterAll(async () => close())

  async function post(body: object): Promise<{ status: number; instance: string | null; body: unknown }> {
    const answer = await fetch(`${url}/api/yard/classify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return {
      status: answer.status,
      instance: answer.headers.get('modelyard-instance'),
      body: await answer.json(),
    }
  }

  const refusal = (param: string, code = 'invalid_request'): object => ({
    status: 400,
    body: { error: { code, details: { param } } },
  })

  it('tells texts apart, the likeliest label first, in the order of the inputs', async () => {
    const { results, usage, info } = await yard.classify({
      model: 'mood',
      input: ['good and nice', 'This is awful.'],
    })
    expect(results).toEqual([
      [
        { label: 'POSITIVE', score: expect.closeTo(share(4), 5) },
        { label: 'NEGATIVE', score: expect.closeTo(share(-4), 5) },
      ],
      [
        { label: 'NEGATIVE', score: expect.closeTo(share(2), 5) },
        { label: 'POSITIVE', score: expect.closeTo(share(-2), 5) },
      ],
    ])
    // Two marks each.
    expect(usage.promptTokens).toBe(5 + 6)
    expect(info.instance).toMatch(/^mood#/)
  })

  it('judges each label alone where the model says that several can be right', async () => {
    const { results } = await yard.classify({ model: 'moods', input: 'good' })
    expect(results[0]).toEqual([
      { label: 'POSITIVE', score: expect.closeTo(share(1), 5) },
      { label: 'NEGATIVE', score: expect.closeTo(share(-1), 5) },
    ])
  })

  it('takes labels of one’s own with a model that judges sentences, weighed against each other or each alone', async () => {
    const asked = { model: 'judge', input: 'the music is good', labels: ['sport', 'music', 'good'] }
    const { results } = await yard.classify(asked)
    expect(results[0]?.map(({ label }) => label)).toEqual(['music', 'good', 'sport'])
    expect(results[0]?.reduce((sum, { score }) => sum + score, 0)).toBeCloseTo(1, 6)
    const several = await yard.classify({ ...asked, multiple: true, hypothesis: 'This is about {}.' })
    expect(several.results[0]).toEqual([
      { label: 'music', score: expect.closeTo(share(6), 5) },
      { label: 'good', score: expect.closeTo(share(6), 5) },
      { label: 'sport', score: expect.closeTo(share(-2), 5) },
    ])
  })

  it('tells images apart, over the library and over HTTP', async () => {
    const input = [png(40, 20, RED), png(3, 5, BLUE), png(64, 64, GREEN)]
    const { results } = await yard.classify({ model: 'colours', input })
    expect(results.map(([first]) => first?.label)).toEqual(['red', 'blue', 'green'])
    expect(results[0]?.[0]?.score).toBeGreaterThan(0.99)
    const answer = await post({ model: 'colours', image: dataUri(png(8, 8, BLUE)), top: 1 })
    expect(answer).toMatchObject({
      status: 200,
      instance: expect.stringMatching(/^colours#\d$/) as string,
      body: { model: 'colours', results: [{ index: 0, labels: [{ label: 'blue' }] }] },
    })
  })

  it('answers over HTTP as the document says', async () => {
    expect(await post({ model: 'mood', input: ['good', 'bad'], top: 1, keep_alive: '5m' })).toEqual({
      status: 200,
      instance: expect.stringMatching(/^mood#\d$/) as string,
      body: {
        model: 'mood',
        results: [
          { index: 0, labels: [{ label: 'POSITIVE', score: expect.closeTo(share(2), 5) as number }] },
          { index: 1, labels: [{ label: 'NEGATIVE', score: expect.closeTo(share(2), 5) as number }] },
        ],
        usage: { prompt_tokens: 6, total_tokens: 6 },
      },
    })
    const zeroShot = await post({ model: 'judge', input: 'sport', labels: ['food', 'sport'], top: 1 })
    expect(zeroShot.body).toMatchObject({ results: [{ labels: [{ label: 'sport' }] }] })
  })

  it.each<[string, object, string, string?]>([
    ['nothing', { model: 'mood' }, 'input'],
    ['an empty text', { model: 'mood', input: ['good', ''] }, 'input[1]'],
    ['an empty list', { model: 'mood', input: [] }, 'input'],
    ['texts and images', { model: 'mood', input: 'good', image: dataUri(png(2, 2, RED)) }, 'image'],
    [
      'labels of one’s own for a model with its own',
      { model: 'mood', input: 'good', labels: ['a'] },
      'labels',
      'unsupported',
    ],
    [
      'an image for a model of texts',
      { model: 'mood', image: dataUri(png(2, 2, RED)) },
      'image',
      'unsupported',
    ],
    ['a text for a model of images', { model: 'colours', input: 'red' }, 'input[0]', 'unsupported'],
    ['no label at all', { model: 'judge', input: 'good', labels: [] }, 'labels'],
    [
      'a sentence without a place',
      { model: 'judge', input: 'good', labels: ['a'], hypothesis: 'No.' },
      'hypothesis',
    ],
    [
      'a text that is too long',
      { model: 'mood', input: 'good '.repeat(100) },
      'input[0]',
      'context_length_exceeded',
    ],
    [
      'a text that is too long beside labels',
      { model: 'judge', input: ['good', 'good '.repeat(100)], labels: ['music'] },
      'input[1]',
      'context_length_exceeded',
    ],
    [
      'a label that is too long',
      { model: 'judge', input: 'good', labels: ['music', 'good '.repeat(100)] },
      'labels[1]',
      'context_length_exceeded',
    ],
    [
      'a sentence that is too long',
      { model: 'judge', input: 'good', labels: ['music'], hypothesis: `${'this '.repeat(100)}{}` },
      'hypothesis',
      'context_length_exceeded',
    ],
    [
      'a label that is too long where it is said often',
      { model: 'judge', input: 'good', labels: ['music '.repeat(10)], hypothesis: '{} '.repeat(10) },
      'hypothesis',
      'context_length_exceeded',
    ],
    [
      'a label that is too long beside a shorter text',
      { model: 'judge', input: 'good '.repeat(20), labels: ['music', 'good '.repeat(50)] },
      'labels[1]',
      'context_length_exceeded',
    ],
    [
      'a text that is too long beside a shorter label',
      { model: 'judge', input: 'good '.repeat(50), labels: ['music '.repeat(20)] },
      'input[0]',
      'context_length_exceeded',
    ],
    ['a picture at an address', { model: 'colours', image: 'http://127.0.0.1/red.png' }, 'image'],
    ['a drawing', { model: 'colours', image: 'data:image/svg+xml;base64,PHN2Zy8+' }, 'image'],
    ['half an image', { model: 'colours', image: dataUri(png(64, 64, RED).subarray(0, 60)) }, 'image'],
    [
      'half an image among others',
      { model: 'colours', image: [dataUri(png(2, 2, RED)), dataUri(png(64, 64, RED).subarray(0, 60))] },
      'image[1]',
    ],
  ])('%s is a 400 that names the field', async (_, body, param, code) => {
    expect(await post(body)).toMatchObject(refusal(param, code))
  })

  it('refuses an image that would fill the memory by its size alone', async () => {
    const small = png(2, 2, RED)
    const large = Buffer.from(small)
    large.writeUInt32BE(60_000, 16)
    large.writeUInt32BE(60_000, 20)
    expect(await post({ model: 'colours', image: dataUri(large) })).toMatchObject(refusal('image'))
  })

  it('a damaged graph is a load that failed, and other tasks are refused before a load', async () => {
    await expect(yard.classify({ model: 'damaged', input: 'good' })).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure: 'bad_file' },
    })
    await expect(yard.embed({ model: 'damaged', input: 'good' })).rejects.toMatchObject({
      code: 'unsupported',
    })
  })
})
