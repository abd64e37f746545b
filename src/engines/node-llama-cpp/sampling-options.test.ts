import { describe, expect, it } from 'vitest'
import { resolveSampling } from '../llama-cpp/resolve-sampling.ts'
import { evaluateOptions } from './sampling-options.ts'

describe('sampling', () => {
  it("takes the request's values, then the model's, then the engine's; zero is a value", () => {
    expect(
      resolveSampling({ temperature: 0, topP: 0.5 }, { temperature: 0.7, topP: 0.9, topK: 5, minP: 0 }),
    ).toMatchObject({
      temperature: 0,
      topP: 0.5,
      topK: 5,
      minP: 0,
    })
    expect(resolveSampling({}, {})).toMatchObject({
      temperature: 0.8,
      topK: 40,
      topP: 0.95,
      minP: 0.05,
      repeatPenalty: 1,
    })
  })

  it('keeps seed 0, and gives every run without a seed its own', () => {
    expect(resolveSampling({ seed: 0 }, { seed: 7 }).seed).toBe(0)
    expect(resolveSampling({}, { seed: 0 }).seed).toBe(0)
    const seeds = new Set(Array.from({ length: 20 }, () => resolveSampling({}, {}).seed))
    expect(seeds.size).toBeGreaterThan(15)
  })
})

describe('penalties', () => {
  const prompt = Array.from({ length: 100 }, (_, index) => index)

  it('are off by default', () => {
    const tokens = { prompt, answer: [], contextSize: 512 }
    expect(evaluateOptions(resolveSampling({}, {}), tokens, undefined).repeatPenalty).toBeUndefined()
    expect(
      evaluateOptions(resolveSampling({ repeatPenalty: 1 }, {}), tokens, undefined).repeatPenalty,
    ).toBeUndefined()
  })

  it('for presence look at the whole answer as it grows', () => {
    const answer: number[] = []
    const sampling = resolveSampling({ presencePenalty: 1 }, {})
    const { repeatPenalty } = evaluateOptions(sampling, { prompt, answer, contextSize: 512 }, undefined)
    answer.push(500, 501)
    expect(repeatPenalty?.punishTokens()).toEqual([500, 501])
    expect(repeatPenalty).toMatchObject({
      penalty: 1,
      presencePenalty: 1,
      frequencyPenalty: 0,
      maxPunishTokens: 512,
    })
  })

  it('for repeats look at the last 64 tokens of prompt and answer', () => {
    const answer: number[] = []
    const sampling = resolveSampling({}, { repeatPenalty: 1.1 })
    const { repeatPenalty } = evaluateOptions(sampling, { prompt, answer, contextSize: 512 }, undefined)
    expect(repeatPenalty?.punishTokens()).toEqual(prompt.slice(-64))
    answer.push(500)
    expect(repeatPenalty?.punishTokens()).toEqual([...prompt.slice(-63), 500])
    answer.push(...prompt)
    expect(repeatPenalty?.punishTokens()).toEqual(prompt.slice(-64))
  })
})
