import { describe, expect, it } from 'vitest'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { HostFacts } from '../engine.ts'
import { planSdServer } from './sd-server-plan.ts'

const MIB = 2 ** 20
const FACTS: ModelFacts = {
  format: 'gguf',
  path: '/m.gguf',
  fileSize: 2000 * MIB,
  contentId: 'a',
  purpose: 'image',
}
const HOST: HostFacts = { cores: 8, memory: {} }

function spec(engineOptions: Record<string, unknown> = {}, changes: Partial<ModelSpec> = {}): ModelSpec {
  return {
    id: 'm',
    slots: 4,
    device: { gpu: 'auto', memoryLock: false },
    engineOptions,
    ...changes,
  } as ModelSpec
}

const computeOf = (options: Record<string, unknown>): number | undefined =>
  planSdServer(spec(options), FACTS, HOST).footprint.ram?.compute

describe('the plan of an image model', () => {
  it('has its files, one slot whatever was asked for, and the threads of a run', () => {
    const plan = planSdServer(spec(), FACTS, HOST)
    expect(plan).toMatchObject({
      engine: 'sd-server',
      slots: 1,
      contextSize: 1,
      threads: 7,
      loadBytes: 2000 * MIB,
    })
    expect(plan.footprint.ram?.weights).toBe(2000 * MIB)
    expect(plan.takenLater).toEqual({ ram: plan.footprint.ram?.compute })
    expect(plan.capabilities.tasks).toEqual(['image'])
    expect(
      planSdServer(spec({}, { device: { gpu: false, threads: 99, memoryLock: false } }), FACTS, HOST).threads,
    ).toBe(8)
  })

  it('books what the largest picture takes: steps, or decoding it whole or in tiles', () => {
    expect(computeOf({ largestSize: '512x512' })).toBe(1664 * MIB)
    expect(computeOf({ largestSize: '1024x1024' })).toBe(2600 * MIB)
    expect(computeOf({ largestSize: '1024x1024', vaeTiling: false })).toBe(6656 * MIB)
    expect(computeOf({ largestSize: '512x512', vaeTiling: true })).toBe(650 * MIB)
    expect(computeOf({ largestSize: '64x64' })).toBe((1664 * MIB) / 64)
  })

  it('books what was declared instead, and then nothing is taken later', () => {
    const plan = planSdServer(spec({ memory: { ram: 5, 'gpu:0': 7 } }), FACTS, HOST)
    expect(plan.footprint).toMatchObject({ ram: { weights: 5 }, 'gpu:0': { weights: 7 } })
    expect(plan.takenLater).toBeUndefined()
  })

  it('is another one with other files or options', () => {
    const keys = [
      planSdServer(spec(), FACTS, HOST),
      planSdServer(spec({ steps: 4 }), FACTS, HOST),
      planSdServer(spec(), { ...FACTS, contentId: 'b' }, HOST),
    ].map(({ key }) => key)
    expect(new Set(keys).size).toBe(3)
  })

  it('is refused for what is no diffusion model, and for sizes that no picture has', () => {
    expect(() => planSdServer(spec(), { ...FACTS, purpose: 'generation' }, HOST)).toThrow(
      /no file with a diffusion model/,
    )
    expect(() => planSdServer(spec({ size: '72x64' }), FACTS, HOST)).toThrow(/multiples of 64/)
    expect(() => planSdServer(spec({ size: '512x512', largestSize: '256x256' }), FACTS, HOST)).toThrow(
      /more than largestSize/,
    )
  })
})
