import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { requireFormat } from '../../src/grammar/require-format.ts'
import { randomSchemas } from '../../src/grammar/random-schemas.ts'
import type { ChatTask } from '../../src/tasks/chat-task.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask, chat, load } from './fixtures.ts'

const MOST_TOKENS = 300
const RUNS = Number(process.env['MODELYARD_GRAMMAR_RUNS'] ?? 40)

let folder: string
let model: LoadedModel
beforeAll(async () => {
  folder = await temporaryFolder()
  model = await load(makeTinyModel(`${folder}/noise.gguf`).path, { defaults: {}, slots: 4, context: 1024 })
})
afterAll(async () => {
  await model.unload()
  await removeFolder(folder)
})

function isHeld(task: ChatTask): boolean {
  try {
    requireFormat(task)
    return true
  } catch {
    return false
  }
}

describe('a model of random weights', () => {
  it('writes what parses and fits, whatever the schema, greedy and by chance; what is cut says so (property)', async () => {
    const ends = { stop: 0, length: 0 }
    let overlong = 0
    const property = fc.asyncProperty(randomSchemas, fc.nat(1000), async (schema, seed) => {
      const tasks = [0, 0.7, 1.5].map((temperature) =>
        chat('hi', {
          format: { type: 'json-schema', name: 'random', schema, strict: true },
          sampling: { temperature, seed },
          maxTokens: MOST_TOKENS,
        }),
      )
      if (!tasks.every(isHeld)) return
      const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, ownProperties: true })
      addFormats.default(ajv)
      const fits = ajv.compile(schema)
      const answers = await Promise.all(tasks.map(async (task, slot) => ask(model, task, { slot })))
      for (const { text, result } of answers) {
        ends[result.finishReason as keyof typeof ends]++
        const isCut = result.finishReason === 'length' && result.usage.completionTokens === MOST_TOKENS
        // A model of noise writes bytes that are no UTF-8, which llama.cpp's grammar takes for one character and a reader for several.
        const isOverlong = text.includes('\uFFFD')
        if (isOverlong) overlong++
        const isRight = isCut || isOverlong || fits(JSON.parse(text))
        expect({ schema, text, isRight }).toEqual({ schema, text, isRight: true })
      }
    })
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
    expect(ends.stop).toBeGreaterThan(RUNS / 2)
    expect(overlong).toBeLessThan(RUNS / 2)
  }, 600_000)
})
