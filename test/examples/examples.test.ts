import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestHome } from '../cli/program.ts'
import { outputOf, userProject } from './user-project.ts'

const EXAMPLES = resolve(import.meta.dirname, '../../examples')
/** A red dot. */
const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=='

interface Answer {
  choices?: { message: { content: string }; finish_reason: string }[]
  error?: { message: string }
}

async function chat(url: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as Answer
}

describe('P14: examples/ run as they are, against the built program', () => {
  let home: TestHome
  beforeAll(async () => {
    home = await TestHome.create()
  })
  afterAll(() => home.remove())

  async function serve(file: string): Promise<{ url: string } & AsyncDisposable> {
    const server = await home.serve(['--config', join(EXAMPLES, file)])
    return {
      url: server.url,
      async [Symbol.asyncDispose]() {
        server.kill('SIGTERM')
        await server.ended
      },
    }
  }

  it('faq.yaml: an engine in a module, named by its path', async () => {
    await using server = await serve('faq.yaml')
    const ask = (content: string, more: object = {}): Promise<Answer> =>
      chat(server.url, { model: 'faq', messages: [{ role: 'user', content }], ...more })
    const answer = 'At the harbour, in the house with the blue door.'
    expect((await ask('where are  you')).choices?.[0]).toMatchObject({
      message: { content: answer },
      finish_reason: 'stop',
    })
    expect((await ask('Where are you?', { max_tokens: 3 })).choices?.[0]).toMatchObject({
      message: { content: 'At the harbour,' },
      finish_reason: 'length',
    })
    expect((await ask('Where are you?', { stop: [' in the'] })).choices?.[0]).toMatchObject({
      message: { content: 'At the harbour,' },
    })
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    expect((await ask('Where are you?', { tools })).error?.message).toContain('does not support tools')
  })

  it('describe.modelyard.ts: a run asks two other models, many at once, and nobody waits for ever', async () => {
    await using server = await serve('describe.modelyard.ts')
    const content = [
      { type: 'image_url', image_url: { url: PICTURE } },
      { type: 'text', text: 'Is it well?' },
    ]
    const ask = (): Promise<Answer> =>
      chat(server.url, { model: 'describe', messages: [{ role: 'user', content }] })
    const answers = await Promise.all(Array.from({ length: 12 }, ask))
    expect(answers.map(({ choices }) => choices?.[0]?.message.content)).toEqual(
      answers.map(() => 'It looks comfortable.'),
    )
    const state = (await (await fetch(`${server.url}/api/yard/state`)).json()) as {
      runs: { active: number }
      instances: { model: string }[]
    }
    expect(state.runs.active).toBe(0)
    expect(state.instances.map(({ model }) => model).sort()).toEqual(['describe', 'eyes', 'voice'])
  })

  it('faq-engine.test.ts: the contract of engines passes in a project of its own, with the package as published', async () => {
    await using project = await userProject(['examples/faq-engine.ts', 'examples/faq-engine.test.ts'])
    const { code, output } = await outputOf(
      process.execPath,
      [join(project.folder, 'node_modules/vitest/vitest.mjs'), 'run', '--root', project.folder],
      project.folder,
    )
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(output).toMatch(/Tests {2}\d\d passed/)
  })
})
