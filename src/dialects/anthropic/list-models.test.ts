import { describe, expect, it } from 'vitest'
import { ScriptedPort } from '../../../test/http/scripted-port.ts'
import { SCRIPTED_CAPABILITIES } from '../../engines/scripted/scripted-plan.ts'
import { dialectRequest } from '../../../test/http/transcript.ts'
import { findModel, listModels } from './list-models.ts'

const port = new ScriptedPort({
  models: ['a', 'b', 'c', 'd'].map((id) => ({ id, aliases: [`${id}/alias`] })),
})
const NEVER = new AbortController().signal

interface Page {
  data: { id: string }[]
  has_more: boolean
  first_id: string | null
  last_id: string | null
}

async function page(query: string): Promise<string> {
  const { body } = await listModels(dialectRequest({ query })).answer(port, NEVER)
  const { data, has_more, first_id, last_id } = JSON.parse(body) as Page
  expect([first_id, last_id]).toEqual([data[0]?.id ?? null, data.at(-1)?.id ?? null])
  return `${data.map(({ id }) => id).join('')} ${has_more}`
}

describe('models in Anthropic’s shape', () => {
  it.each([
    ['', 'abcd false'],
    ['limit=2', 'ab true'],
    ['limit=2&after_id=b', 'cd false'],
    ['limit=1&after_id=b', 'c true'],
    ['limit=2&before_id=d', 'bc true'],
    ['limit=2&before_id=c', 'ab false'],
    ['after_id=d', ' false'],
    ['after_id=gone', 'abcd false'],
    ['beta=true&limit=1000', 'abcd false'],
  ])('the page of "%s" is %s', async (query, expected) => {
    expect(await page(query)).toBe(expected)
  })

  it.each(['limit=0', 'limit=1001', 'limit=x', 'limit=1.5'])('%s is a 400', (query) => {
    expect(() => listModels(dialectRequest({ query }))).toThrow('limit')
  })

  it('says of one model what it can do, by an alias with a slash too', async () => {
    const action = findModel(dialectRequest({ params: { '*': 'a/alias' } }))
    if (action.type !== 'answer') throw new Error('no answer')
    expect(JSON.parse((await action.answer(port, NEVER)).body)).toMatchObject({
      type: 'model',
      id: 'a',
      display_name: 'a',
      created_at: '2023-11-14T22:13:20.000Z',
      max_input_tokens: 4096,
      capabilities: {
        image_input: { supported: SCRIPTED_CAPABILITIES.images },
        thinking: { supported: true, types: { enabled: { supported: true } } },
        pdf_input: { supported: false },
      },
    })
  })
})
