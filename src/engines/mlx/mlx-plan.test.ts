import { describe, expect, it } from 'vitest'
import { specOf } from '../../models/__fixtures__/model-spec.ts'
import type { ModelFacts, SafetensorsFacts } from '../../models/model-facts.ts'
import type { HostFacts, LoadPlan } from '../engine.ts'
import { footprintTotal } from '../../host/memory.ts'
import { planMlx } from './mlx-plan.ts'

const HOST: HostFacts = { cores: 4, memory: { ram: { total: 8e9, available: 8e9, source: 'test' } } }
const GIB = 1024 ** 3

const TEXT: SafetensorsFacts = {
  modelType: 'qwen2',
  weightBytes: 5000,
  layers: 2,
  contextLength: 4096,
  kvHeads: 1,
  headLength: 64,
  vocabularySize: 512,
  numberBytes: 2,
}
const SEEING: SafetensorsFacts = {
  ...TEXT,
  vision: { modelType: 'qwen2_vl', weightBytes: 1000, width: 1280, patchSize: 14 },
}

function planOf(
  safetensors: SafetensorsFacts,
  engineOptions: Record<string, unknown> = {},
  host = HOST,
  context?: number,
): LoadPlan {
  const facts: ModelFacts = {
    format: 'safetensors',
    path: '/models/one',
    fileSize: 0,
    contentId: 'one',
    purpose: 'generation',
    safetensors,
  }
  const spec = specOf('one', {
    engine: 'mlx',
    slots: 1,
    engineOptions,
    ...(context !== undefined && { context }),
  })
  return planMlx(spec, facts, host)
}

it.each(['embedding', 'classification'] as const)('weights for %s are refused before a load', (purpose) => {
  const facts: ModelFacts = { ...planOf(TEXT).facts, purpose }
  expect(() => planMlx(specOf('one', { engine: 'mlx' }), facts, HOST)).toThrow(
    `Model "one" has safetensors for ${purpose}; mlx runs models that write text.`,
  )
})

describe('what a model that sees needs in mlx', () => {
  it('is planned as such, with the part that sees in its weights and its work in the memory taken later', () => {
    const { capabilities, footprint, takenLater } = planOf(SEEING)
    expect(capabilities.images).toBe(true)
    expect(footprint.ram?.weights).toBe(5000)
    expect(footprint.ram?.compute).toBeGreaterThan(0.5 * GIB)
    expect(takenLater).toEqual({ ram: (footprint.ram?.context ?? 0) + (footprint.ram?.compute ?? 0) })
  })

  it('a small context holds few images, and is estimated so', () => {
    const [one, two] = [256, 512].map((context) => planOf(SEEING, {}, HOST, context).footprint.ram?.compute)
    const text = planOf(TEXT, {}, HOST, 256).footprint.ram?.compute ?? 0
    expect(((two ?? 0) - text) / ((one ?? 0) - text)).toBe(2)
  })

  it('runs as a text model where that is wished, without the weights that see, as another load', () => {
    const blind = planOf(SEEING, { vision: false })
    expect(blind.capabilities.images).toBe(false)
    expect(blind.footprint.ram?.weights).toBe(4000)
    expect(blind.key).not.toBe(planOf(SEEING).key)
    expect(planOf(TEXT).capabilities.images).toBe(false)
  })

  it('takes a smaller context where the budget is short, and counts what images take', () => {
    const host = { ...HOST, budget: { ram: 0.5 * GIB } }
    const plan = planOf(SEEING, {}, host)
    expect(plan.contextSize).toBeLessThan(planOf(TEXT, {}, host).contextSize)
    expect(
      footprintTotal(plan.footprint.ram ?? { weights: 0, context: 0, compute: 0, base: 0 }),
    ).toBeLessThan(0.5 * GIB)
  })

  it.each([
    [TEXT, { vision: true }, 'config_invalid', /it has no part that sees/],
    [SEEING, { draft: '/models/small' }, 'config_invalid', /takes no draft/],
    [{ ...SEEING, codeFile: 'modeling.py' }, {}, 'unsupported', /modeling\.py.*Set vision: false/],
  ])('refuses what cannot be: %#', (facts, options, code, words) => {
    expect(() => planOf(facts, options)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(words) as string }) as Error,
    )
  })
})
