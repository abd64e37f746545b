import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI, { NotFoundError } from 'openai'
import { describe, expect, it } from 'vitest'
import type { ScriptEntry } from '../../src/engines/scripted/scripted-options.ts'
import type { Yard } from '../../src/yard.ts'
import type { YardOptions } from '../../src/yard-options.ts'
import { ownYards } from '../yard/harness.ts'

const SCRIPT: ScriptEntry[] = [
  { match: '^what did you see', echo: 'prompt' },
  {
    match: '^weather',
    after: 'user',
    toolCalls: [{ name: 'look', arguments: '{"at":"it"}', id: 'call_look' }],
  },
  { text: 'Hello there.' },
]
const MODELS = {
  talker: { engine: 'scripted' as const, isolation: 'none' as const, script: SCRIPT },
  narrow: { engine: 'scripted' as const, isolation: 'none' as const, script: SCRIPT, context: 60 },
}

async function clientOf(yard: Yard): Promise<OpenAI> {
  const { url } = await yard.listen({ port: 0 })
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
}

const ask = (
  input: OpenAI.Responses.ResponseInput | string,
  more: object = {},
): { model: string; input: typeof input } => ({
  model: 'talker',
  input,
  ...more,
})

type Kept = NonNullable<NonNullable<YardOptions['server']>['responses']>

describe('responses that are kept', () => {
  const own = ownYards()
  const open = async (responses: Kept): Promise<Yard> => own.open({ models: MODELS, server: { responses } })

  it('H1: a conversation goes on from a response, streamed or not, with calls and their results', async () => {
    const client = await clientOf(await open(true))
    const first = await client.responses.create(ask('My name is Ada.', { instructions: 'Only for now.' }))
    expect(first).toMatchObject({ store: true, previous_response_id: null })
    const stream = await client.responses
      .stream(ask('weather', { previous_response_id: first.id, tools: [TOOL] }))
      .finalResponse()
    expect(stream).toMatchObject({ store: true, previous_response_id: first.id })
    const result = { type: 'function_call_output' as const, call_id: 'call_look', output: 'Sunny.' }
    const third = await client.responses.create(ask([result], { previous_response_id: stream.id }))
    const last = await client.responses.create(ask('what did you see', { previous_response_id: third.id }))
    for (const said of ['Ada', 'Hello', 'weather', 'look', 'Sunny']) expect(last.output_text).toContain(said)
    expect(last.output_text.match(/Ada/g)).toHaveLength(1)
    // As the API has it, instructions hold for their own request.
    expect(last.output_text).not.toContain('Only')
  })

  it('H1: can be read and deleted; what goes on from a deleted one is a 400 that says so', async () => {
    const client = await clientOf(await open(true))
    const first = await client.responses.create(ask('One'))
    const second = await client.responses.create(ask('Two', { previous_response_id: first.id }))
    const { id, output } = await client.responses.retrieve(first.id)
    expect({ id, output }).toEqual({ id: first.id, output: first.output })
    await expect(client.responses.inputItems.list(first.id)).rejects.toMatchObject({ status: 501 })
    await client.responses.delete(first.id)
    await expect(client.responses.retrieve(first.id)).rejects.toThrow(NotFoundError)
    await expect(client.responses.delete(first.id)).rejects.toMatchObject({ status: 404 })
    for (const previous of [first.id, second.id, 'resp_nobody']) {
      await expect(
        client.responses.create(ask('Hi', { previous_response_id: previous })),
      ).rejects.toMatchObject({
        status: 400,
        param: 'previous_response_id',
      })
    }
    const unkept = await client.responses.create(ask('Hi', { store: false }))
    expect(unkept).toMatchObject({ store: false })
    await expect(client.responses.retrieve(unkept.id)).rejects.toThrow(NotFoundError)
  })

  it('outlive the server, in a file for its owner alone, and go when nothing is to be kept any more', async () => {
    const yard = await open({ keep: '1h', most: 2 })
    const client = await clientOf(yard)
    const ids: string[] = []
    for (const text of ['One', 'Two', 'Three']) ids.push((await client.responses.create(ask(text))).id)
    await yard.stop()
    const database = join(own.home.path, 'modelyard.db')
    expect((await stat(database)).mode & 0o777).toBe(0o600)
    const again = await open({ keep: '1h', most: 2 })
    const later = await clientOf(again)
    await expect(later.responses.retrieve(ids[0] ?? '')).rejects.toThrow(NotFoundError)
    expect((await later.responses.retrieve(ids[2] ?? '')).id).toBe(ids[2])
    await again.stop()
    await (await open(false)).stop()
    const last = await open(true)
    await expect((await clientOf(last)).responses.retrieve(ids[2] ?? '')).rejects.toThrow(NotFoundError)
  })

  it('off, as they are by default: every way to ask for it is refused with what to do', async () => {
    const client = await clientOf(await createOpen())
    expect(await client.responses.create(ask('Hi'))).toMatchObject({ store: false })
    const refused = { status: 501, message: expect.stringContaining('server.responses') as string }
    await expect(client.responses.create(ask('Hi', { store: true }))).rejects.toMatchObject(refused)
    await expect(
      client.responses.create(ask('Hi', { previous_response_id: 'resp_1' })),
    ).rejects.toMatchObject(refused)
    await expect(client.responses.retrieve('resp_1')).rejects.toMatchObject(refused)
    await expect(client.responses.delete('resp_1')).rejects.toMatchObject(refused)
  })
  const createOpen = async (): Promise<Yard> => own.open({ models: MODELS })

  it('E5: truncation auto drops the oldest turns and says how many; without it the 400 has both numbers', async () => {
    const client = await clientOf(await open(true))
    const long = Array.from({ length: 6 }, (_, index) => [
      { role: 'user' as const, content: `Question ${index} ${'word '.repeat(8)}` },
      { role: 'assistant' as const, content: 'Yes.' },
    ]).flat()
    const input = [
      { role: 'system' as const, content: 'Brief.' },
      ...long,
      { role: 'user' as const, content: 'what did you see' },
    ]
    const asked = { model: 'narrow', input, max_output_tokens: 5 }
    await expect(client.responses.create(asked)).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    })
    const answer = await client.responses.create({ ...asked, truncation: 'auto' })
    expect(answer).toMatchObject({ truncation: 'auto', truncated_messages: expect.any(Number) as number })
    const short = await client.responses.create({ ...asked, input: 'Hi', truncation: 'auto' })
    expect(short).not.toHaveProperty('truncated_messages')
  })
})

const TOOL: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
  strict: false,
}
