import { describe, expect, it } from 'vitest'
import { footprintTotal } from '../../host/memory.ts'
import { specOf } from '../../models/__fixtures__/model-spec.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { HostFacts, LoadPlan } from '../engine.ts'
import { SMOLLM2 } from '../llama-cpp/__fixtures__/smollm2-facts.ts'
import { launchArguments } from './launch-arguments.ts'
import { planLlamaServer } from './llama-server-plan.ts'

const MIB = 1024 ** 2
const HOST: HostFacts = { cores: 4, memory: { ram: { total: 16e9, available: 12e9, source: 'test' } } }
const SPEC = specOf('m', { context: 1000, device: { gpu: false, threads: 3, memoryLock: false } })

interface Of extends Partial<ModelSpec> {
  purpose?: ModelFacts['purpose']
  measuredSpeed?: number
  companions?: { mmproj: number; draft: number }
}

function planOf({
  purpose = 'generation',
  companions = { mmproj: 0, draft: 0 },
  measuredSpeed,
  ...changes
}: Of): LoadPlan {
  const facts: ModelFacts = {
    format: 'gguf',
    path: '/a b.gguf',
    fileSize: 1,
    contentId: 'x',
    purpose,
    gguf: SMOLLM2,
  }
  return planLlamaServer({ ...SPEC, ...changes }, facts, HOST, {
    measuredSpeed: () => measuredSpeed,
    companions,
  })
}

function argumentsOf(of: Of): string[] {
  return launchArguments(planOf(of), { cores: 4, batchSize: 256, slotFolder: '/slots' })
}

/** The value behind an option. */
function option(args: readonly string[], name: string): string | undefined {
  const place = args.indexOf(name)
  return place < 0 ? undefined : args[place + 1]
}

function bytesOf(of: Of): number {
  const { ram } = planOf(of).footprint
  return ram === undefined ? NaN : footprintTotal(ram)
}

describe('the command line of a llama-server', () => {
  const plain = argumentsOf({})

  it.each([
    ['-m', '/a b.gguf'],
    ['--host', '127.0.0.1'],
    // Any free one: nobody can take it between its choice and its use.
    ['--port', '0'],
    // All slots together, each in steps of 256.
    ['-c', '4096'],
    ['-np', '4'],
    ['-b', '256'],
    ['-ub', '256'],
    // Threads of the plan for answers, all cores for prompts where none are asked for.
    ['-t', '3'],
    ['-tb', '3'],
    ['-ngl', '0'],
    // Nothing is held that nobody counts.
    ['--cache-ram', '0'],
    ['-ctk', 'f16'],
    ['-ctv', 'f16'],
    ['-fa', 'auto'],
    ['--slot-save-path', '/slots'],
  ])('has %s %s', (name, value) => {
    expect(option(plain, name)).toBe(value)
  })

  it('has nothing of what is not asked for, and no key', () => {
    const absent = [
      '--mmproj',
      '--lora-scaled',
      '-md',
      '--draft-max',
      '--mlock',
      '--no-mmap',
      '--embeddings',
      '--rerank',
      '--api-key',
    ]
    expect(absent.filter((name) => plain.includes(name))).toEqual([])
    expect(plain).toContain('--swa-full')
  })

  it('takes all cores for prompts where the configuration names no threads', () => {
    const args = argumentsOf({ device: { gpu: false, memoryLock: false } })
    expect([option(args, '-t'), option(args, '-tb')]).toEqual(['3', '4'])
  })

  it('names what an entry says of its model', () => {
    const args = argumentsOf({
      device: { gpu: false, threads: 1, memoryLock: true },
      engineOptions: {
        kvCacheType: 'q8_0',
        flashAttention: true,
        fullWindow: false,
        memoryMap: false,
        mmproj: '/eyes.gguf',
        lora: [{ path: '/one.gguf' }, { path: '/two.gguf', scale: 0 }],
        draft: { path: '/draft.gguf', tokens: 4 },
      },
    })
    expect(args.join(' ')).toContain('-fa on -ctk q8_0 -ctv q8_0 --no-mmap --mlock')
    expect(args.join(' ')).toContain(
      '--lora-scaled /one.gguf:1 --lora-scaled /two.gguf:0 --mmproj /eyes.gguf -md /draft.gguf --draft-max 4',
    )
    expect(args).not.toContain('--swa-full')
  })

  it.each([
    ['embedding', '--embeddings'],
    ['rerank', '--rerank'],
  ] as const)('of a model for %s evaluates a whole text at once and saves nothing', (purpose, flag) => {
    const args = argumentsOf({ purpose })
    expect([option(args, '-c'), option(args, '-b'), option(args, '-ub'), option(args, '-np')]).toEqual([
      '1024',
      '1024',
      '1024',
      '1',
    ])
    expect(args).toContain(flag)
    expect(args).not.toContain('--slot-save-path')
  })
})

describe('what the plan books for it', () => {
  it('is more by a projector and by a draft model than without', () => {
    const none = bytesOf({})
    const companions = { mmproj: 600 * MIB, draft: 100 * MIB }
    const both = bytesOf({
      engineOptions: { mmproj: '/eyes.gguf', draft: { path: '/draft.gguf' } },
      companions,
    })
    expect(both - none).toBeGreaterThanOrEqual(700 * MIB)
    const { loadBytes } = planOf({ companions })
    expect(loadBytes).toBe(SMOLLM2.tensorBytes + 700 * MIB)
  })

  it('follows the type of the cache: 34 bytes for 32 numbers of q8_0, 18 of q4_0, 64 of f16', () => {
    const contextOf = (kvCacheType: string): number =>
      planOf({ engineOptions: { kvCacheType } }).footprint.ram?.context ?? NaN
    const half = contextOf('f16')
    expect(half).toBe(4096 * 30 * 3 * 128 * 2)
    expect(contextOf('q8_0') / half).toBeCloseTo(34 / 64, 5)
    expect(contextOf('q4_0') / half).toBeCloseTo(18 / 64, 5)
    expect(contextOf('f32') / half).toBe(2)
  })

  it('has another key where an adapter, a draft or the cache is another, so that contexts and measurements are not mixed', () => {
    const keys = [
      {},
      { lora: [{ path: '/one.gguf' }] },
      { lora: [{ path: '/one.gguf', scale: 0.5 }] },
      { draft: { path: '/draft.gguf' } },
      { kvCacheType: 'q8_0' },
    ].map((engineOptions) => planOf({ engineOptions }).key)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('says that images are seen and contexts are not saved with a projector, and the other way round without', () => {
    const of = (mmproj: object): unknown => {
      const { images, parks } = planOf({ engineOptions: { ...mmproj } }).capabilities
      return { images, parks }
    }
    expect([of({}), of({ mmproj: '/eyes.gguf' })]).toEqual([
      { images: false, parks: true },
      { images: true, parks: false },
    ])
  })

  it('never promises a context that the server cuts: more than the model was trained for is refused with both numbers', () => {
    expect(planOf({ context: 8192 }).contextSize).toBe(8192)
    expect(() => planOf({ context: 8193 })).toThrow(/8192 tokens that the model was trained for, not 8193/)
  })
})

describe('the key of a llama-server', () => {
  const key = (engineOptions: Record<string, unknown> = {}): string => planOf({ engineOptions }).key

  it.each([
    { fullWindow: true, memoryMap: true, lora: [] },
    { flashAttention: 'auto', kvCacheType: 'f16' },
  ])('is the same where defaults are written down: %j', (options) => {
    expect(key(options)).toBe(key())
  })

  it.each([
    { fullWindow: false },
    { memoryMap: false },
    { flashAttention: false },
    { mmproj: '/sees.gguf' },
    { binary: '/other/llama-server' },
    { batchSize: 256 },
  ])('differs by %j', (options) => {
    expect(key(options)).not.toBe(key())
  })

  it('is that of the same load when a measured speed asks for other batches', () => {
    expect(planOf({ measuredSpeed: 2000 }).key).toBe(planOf({ measuredSpeed: 20 }).key)
  })
})
