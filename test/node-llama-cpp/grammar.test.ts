import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { OutputFormat } from '../../src/tasks/chat-task.ts'
import type { Sampling } from '../../src/tasks/sampling.ts'
import { CHATML_TEMPLATE, makeTinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask, chat, load, type Answer } from './fixtures.ts'

let folder: string
let model: LoadedModel
beforeAll(async () => {
  folder = await temporaryFolder()
  model = await load(makeTinyModel(`${folder}/noise.gguf`).path, { defaults: {}, slots: 4 })
})
afterAll(async () => {
  await model.unload()
  await removeFolder(folder)
})

const gbnf = (grammar: string): OutputFormat => ({ type: 'grammar', grammar })

async function held(format: OutputFormat, sampling: Sampling, topLogprobs?: number): Promise<Answer> {
  const task = chat('hi', {
    format,
    sampling,
    maxTokens: 200,
    ...(topLogprobs !== undefined && { topLogprobs }),
  })
  return ask(model, task)
}

describe('a grammar', () => {
  it('decides what can be said, and its end ends the answer', async () => {
    const { text, result } = await held(gbnf('root ::= ("yes" | "no") "!"'), { temperature: 0 })
    expect(['yes!', 'no!']).toContain(text)
    expect(result.finishReason).toBe('stop')
  })

  it('holds where log-probabilities are asked for and the choice is ours', async () => {
    const format = gbnf('root ::= [a-f]{3} "-" [0-9]{1,3} "."')
    const texts = await Promise.all(
      [1, 2, 3].map(async (seed) => (await held(format, { temperature: 1.5, seed }, 3)).text),
    )
    for (const text of texts) expect(text).toMatch(/^[a-f]{3}-\d{1,3}\.$/)
  })
})

describe('a grammar and a model that thinks aloud (BR-38)', () => {
  const template = CHATML_TEMPLATE.replace('assistant\\n', 'assistant\\n<think>\\n') + '{# </think> #}'
  const chains = [{ after: '\n', pieces: [' hmm', '</think>', ' free', ' text'] }]

  it('holds the answer from its first character, and leaves the thoughts alone', async () => {
    const thinker = await load(
      makeTinyModel(`${folder}/thinker.gguf`, { mode: 'script', chatTemplate: template, chains }).path,
    )
    const task = chat('hi', {
      format: gbnf('root ::= "yes" | "no"'),
      sampling: { temperature: 0 },
      maxTokens: 50,
    })
    const { text, parts, result } = await ask(thinker, task)
    const thoughts = parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join('')
    await thinker.unload()
    expect(['yes', 'no']).toContain(text)
    expect({ thoughts: thoughts.trim(), finish: result.finishReason }).toEqual({
      thoughts: 'hmm',
      finish: 'stop',
    })
  })
})
