import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { CHATML_TEMPLATE, makeTinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask, chat, load, planOf, type Answer } from './fixtures.ts'

/** A model that thinks, and answers what its thoughts end with. */
const PIECES = ['<think>', ' one', ' two', ' three', ' four', '</think>', ' Yes', ', it', ' is', '.']
const OPENED = CHATML_TEMPLATE.replace("assistant\\n' }}", "assistant\\n' }}{# <think> </think> #}")

const reasoningOf = ({ parts }: Answer): string =>
  parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join('')

describe('reasoning on the embedded engine', () => {
  let folder: string
  let model: LoadedModel
  let path: string
  beforeAll(async () => {
    folder = await temporaryFolder()
    const chain = { after: '\n', pieces: PIECES }
    path = makeTinyModel(`${folder}/thinks.gguf`, { chains: [chain], chatTemplate: OPENED }).path
    model = await load(path)
  })
  afterAll(async () => {
    await model.unload()
    await removeFolder(folder)
  })

  it('E2: is a capability of models whose template knows its marks', async () => {
    const plain = makeTinyModel(`${folder}/plain.gguf`, {}).path
    expect((await planOf(path)).capabilities).toMatchObject({ reasoning: true, tools: true })
    expect((await planOf(plain)).capabilities).toMatchObject({ reasoning: false, tools: true })
  })

  it('BR-38: is apart from the text, and its tokens are counted', async () => {
    const answer = await ask(model, chat('Is it?'))
    expect(reasoningOf(answer)).toBe('one two three four')
    expect(answer.text).toBe('Yes, it is.')
    expect(answer.result.usage).toMatchObject({ completionTokens: 10, reasoningTokens: 6 })
  })

  it('BR-41: a stop string is not looked for in it', async () => {
    const answer = await ask(model, chat('Is it?', { stop: ['two', ', it'] }))
    expect(reasoningOf(answer)).toBe('one two three four')
    expect(answer.text).toBe('Yes')
    expect(answer.result.finishReason).toBe('stop-sequence')
  })

  it('E2: ends when its budget is used up', async () => {
    const answer = await ask(model, chat('Is it?', { reasoning: { enabled: true, budget: 3 } }))
    expect(reasoningOf(answer)).toBe('one two')
  })

  it('E2: is closed before it begins where it is switched off', async () => {
    const on = await ask(model, chat('Is it?'))
    const off = await ask(model, chat('Is it?', { reasoning: { enabled: false } }))
    // This one thinks anyway; nobody hears it.
    expect(reasoningOf(off)).toBe('')
    expect(off.text).toBe('Yes, it is.')
    expect(off.result.usage.promptTokens).toBeGreaterThan(on.result.usage.promptTokens)
  })

  it('BR-38: comes before an answer in a form, which is in that form', async () => {
    const format = { type: 'json-schema', name: 'x', strict: true, schema: { enum: ['a', 'b'] } } as const
    const answer = await ask(model, chat('Is it?', { format, reasoning: { enabled: true } }))
    expect(reasoningOf(answer)).toBe('one two three four')
    expect(['"a"', '"b"']).toContain(answer.text)
  })
})
