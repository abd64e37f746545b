import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { RerankTask } from '../../src/tasks/rerank-task.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask, chat, load, NEVER } from './fixtures.ts'

let folder: string
let model: LoadedModel
beforeAll(async () => {
  folder = await temporaryFolder()
  const path = `${folder}/ranker.gguf`
  makeTinyModel(path, { architecture: 'qwen3', pooling: 'rank', context: 128 })
  model = await load(path, { slots: 4 })
  await model.warmUp(NEVER)
})
afterAll(async () => {
  await model.unload()
  await removeFolder(folder)
})

const task = (documents: string[], query = 'what is it?'): RerankTask => ({
  kind: 'rerank',
  query,
  documents,
})

async function scoresOf(documents: string[], query?: string): Promise<number[]> {
  const { parts } = await ask(model, task(documents, query))
  return parts.flatMap((part) => (part.type === 'score' ? [part.score] : []))
}

describe('ranking', () => {
  it('is planned with one slot and no other kind of task', () => {
    expect([model.plan.slots, model.plan.capabilities.tasks]).toEqual([1, ['rerank']])
  })

  it('gives one score from 0 to 1 per document, in order, the same alone and in a batch', async () => {
    const documents = ['the quick brown fox', 'user and system', 'hello', 'the quick brown fox']
    const scores = await scoresOf(documents)
    expect(scores).toHaveLength(4)
    expect(scores.every((score) => score >= 0 && score <= 1)).toBe(true)
    expect(new Set(scores).size).toBe(3)
    expect(scores[3]).toBe(scores[0])
    expect((await scoresOf(['user and system']))[0]).toBeCloseTo(scores[1] ?? 0, 4)
    expect((await scoresOf(['hello'], 'something else'))[0]).not.toBe(scores[2])
  })

  it('counts the tokens of query and document together', async () => {
    const asked = task(['the quick', 'brown fox jumps'])
    const { result } = await ask(model, asked)
    expect(result.usage.promptTokens).toBe(await model.countTokens(asked))
    expect(result.usage.promptTokens).toBeGreaterThan(await model.countTokens(task(['the quick'])))
  })

  it('E5: a pair that does not fit is refused before anything is evaluated, with its place and numbers', async () => {
    const long = task(['short', 'word '.repeat(400)])
    await expect(ask(model, long)).rejects.toMatchObject({
      code: 'context_length_exceeded',
      details: { index: 1, contextSize: 128, param: 'documents[1]' },
    })
    await expect(ask(model, task(['short'], 'word '.repeat(400)))).rejects.toMatchObject({
      code: 'context_length_exceeded',
      details: { contextSize: 128, param: 'query' },
    })
    expect(await scoresOf(['short'])).toHaveLength(1)
  })

  it('E1: other tasks are refused', async () => {
    await expect(ask(model, chat('hi'))).rejects.toMatchObject({ code: 'unsupported' })
  })
})
