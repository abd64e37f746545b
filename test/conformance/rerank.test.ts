import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTalkingYard, type TalkingYard } from './talking-yard.ts'

const KEY = 'sk-local-test'
const DOCUMENTS = ['low', { text: 'high' }, 'middle', 'even', 'even too']

interface Ranked {
  results: { index: number; relevance_score: number; document?: { text: string } }[]
  usage: { prompt_tokens: number; total_tokens: number }
}

/** Rerank has no SDK of OpenAI's; the shape is Jina's and Cohere's. */
describe('BR-35: POST /v1/rerank', () => {
  let talking: TalkingYard
  beforeAll(async () => {
    talking = await startTalkingYard(KEY, [
      { match: '^low', score: 0.03 },
      { match: '^high', score: 0.12 },
      { match: '^middle', score: 0.05 },
      { match: '^even', score: 0.01 },
    ])
  })
  afterAll(() => talking.yard.stop())

  const post = (body: object, path = '/v1/rerank'): Promise<Response> =>
    fetch(talking.server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': KEY },
      body: JSON.stringify({ model: 'talker', query: 'what?', documents: DOCUMENTS, ...body }),
    })
  const rank = async (body: object): Promise<Ranked> => (await (await post(body)).json()) as Ranked
  const order = async (body: object): Promise<number[]> =>
    (await rank(body)).results.map(({ index }) => index)

  it('sorts by score, keeps the order of equal ones, and index is the place in the request', async () => {
    const { results, usage } = await rank({})
    expect(results).toEqual([
      { index: 1, relevance_score: 0.12 },
      { index: 2, relevance_score: 0.05 },
      { index: 0, relevance_score: 0.03 },
      { index: 3, relevance_score: 0.01 },
      { index: 4, relevance_score: 0.01 },
    ])
    expect(usage.prompt_tokens).toBeGreaterThan(DOCUMENTS.length)
  })

  it.each([
    [1, [1]],
    [0, []],
    [99, [1, 2, 0, 3, 4]],
    [null, [1, 2, 0, 3, 4]],
  ])('honours top_n %s', async (top_n, expected) => {
    expect(await order({ top_n })).toEqual(expected)
  })

  it('gives the texts back when it is asked for them, objects as texts too', async () => {
    const { results } = await rank({ top_n: 2, return_documents: true })
    expect(results.map(({ document }) => document)).toEqual([{ text: 'high' }, { text: 'middle' }])
  })

  it.each([
    [{ documents: [] }, 400, 'documents'],
    [{ query: '' }, 400, 'query'],
    [{ documents: ['a', 5] }, 400, 'documents[1]'],
    [{ documents: [{ title: 'a' }] }, 400, 'documents[0].text'],
    [{ top_n: -1 }, 400, 'top_n'],
    [{ max_tokens_per_doc: 5 }, 501, 'max_tokens_per_doc'],
    [{ model: 'vectors' }, 400, 'model'],
    [{ model: 'plain', documents: ['x '.repeat(200)] }, 400, 'documents[0]'],
    [{ model: 'plain', query: 'x '.repeat(200) }, 400, 'query'],
  ])('refuses %j', async (fields, status, param) => {
    const answer = await post(fields)
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: { param } }])
  })

  it.each([
    [{ text_1: 'q', text_2: DOCUMENTS.slice(2, 4) }, [0.05, 0.01]],
    [{ text_1: 'q', text_2: 'low' }, [0.03]],
    [{ text_1: ['q', 'r'], text_2: ['middle', 'low'] }, [0.05, 0.03]],
  ])('POST /v1/score keeps the order: %j', async (fields, scores) => {
    const answer = await post(fields, '/v1/score')
    const { data } = (await answer.json()) as { data: { index: number; score: number }[] }
    expect(data.map(({ score }) => score)).toEqual(scores)
    expect(data.map(({ index }) => index)).toEqual([...scores.keys()])
  })

  it.each([
    [{ text_1: ['q', 'r', 's'], text_2: ['a', 'b'] }, 'text_2'],
    [{ text_1: '', text_2: ['a'] }, 'text_1'],
    [{ text_1: 'q', text_2: [] }, 'text_2'],
    [{ text_1: 'q', text_2: ['a', 5] }, 'text_2[1]'],
  ])('POST /v1/score refuses %j', async (fields, param) => {
    const answer = await post(fields, '/v1/score')
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }])
  })

  it('is the library’s yard.rerank too', async () => {
    const { scores } = await talking.yard.rerank({
      model: 'talker',
      query: 'q',
      documents: ['middle', 'low'],
    })
    expect(scores).toEqual([0.05, 0.03])
  })
})
