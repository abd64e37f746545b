import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { completion, load, NEVER, read } from './fixtures.ts'

const PROMPTS = ['hi there', 'some other words entirely', 'a third one that is longer than the others are']
const SLOTS = 4
const ROUNDS = 12

let folder: string
let model: LoadedModel

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wide-'))
  const path = join(folder, 'wide.gguf')
  // As many tokens as real models have: the more, the longer the logits are moved about.
  makeTinyModel(path, { vocabularySize: 100_000, dimension: 32, layers: 1, context: 512, seed: 3 })
  model = await load(path, { slots: SLOTS, context: 128 })
}, 120_000)

afterAll(async () => {
  await model.unload()
  rmSync(folder, { recursive: true })
})

async function answer(prompt: string, slot: number): Promise<string> {
  const task = completion(prompt, { maxTokens: 16, sampling: { temperature: 0 } })
  return (await read(model.run(task, { slot, keptPrefix: 0, signal: NEVER }))).text
}

describe('slots that answer at the same time', () => {
  it('never go on with a token of another conversation (P6): one answer in six did', async () => {
    const right = new Map<string, string>()
    for (const prompt of PROMPTS) right.set(prompt, await answer(prompt, 0))
    const wrong: string[] = []
    const talk = async (slot: number): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        const prompt = PROMPTS[(slot + round) % PROMPTS.length] ?? ''
        if ((await answer(prompt, slot)) !== right.get(prompt)) wrong.push(`${prompt} on slot ${slot}`)
      }
    }
    await Promise.all(Array.from({ length: SLOTS }, async (_, slot) => talk(slot)))
    expect(wrong).toEqual([])
  }, 120_000)
})
