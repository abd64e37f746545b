import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { NVIDIA_PROCESSES, NVIDIA_TWO_CARDS } from '../../host/__fixtures__/drivers.ts'
import { DeviceWatch } from '../../host/device-watch.ts'
import {
  footprintTotal,
  type DomainReading,
  type FootprintTerms,
  type MemoryDomain,
} from '../../host/memory.ts'
import { specOf } from '../../models/__fixtures__/model-spec.ts'
import type { GgufFacts, ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { HostFacts, LoadPlan } from '../engine.ts'
import { SMOLLM2 } from '../llama-cpp/__fixtures__/smollm2-facts.ts'
import type { LoadShape } from '../llama-cpp/footprint.ts'
import { gpuOf } from './llama-runtime.ts'
import { planLoad, shapeOfPlan } from './node-llama-cpp-plan.ts'

const MIB = 1024 ** 2

/** The 201 MB model of the measurements: F32, Q8_0 and Q4_0. */
const MIDDLE: GgufFacts = {
  ...SMOLLM2,
  tensorBytes: 201_366_000,
  layers: 6,
  contextLength: 2048,
  embeddingLength: 768,
  feedForwardLength: 2048,
  heads: 12,
  kvHeads: [4, 4, 4, 4, 4, 4],
  vocabularySize: 8192,
}

/** Small but for its vocabulary, which has no merges. */
const WIDE: GgufFacts = {
  ...SMOLLM2,
  tensorBytes: 70_890_000,
  layers: 2,
  contextLength: 4096,
  embeddingLength: 256,
  feedForwardLength: 512,
  heads: 4,
  kvHeads: [2, 2],
  vocabularySize: 128_000,
  tokenizer: { model: 'llama', addBos: false },
}

const HOST: HostFacts = { cores: 4, memory: { ram: { total: 16e9, available: 12e9, source: 'test' } } }

const spec = (changes: Partial<ModelSpec> = {}): ModelSpec => specOf('m', changes)

function facts(gguf: GgufFacts = SMOLLM2, changes: Partial<ModelFacts> = {}): ModelFacts {
  return {
    format: 'gguf',
    path: '/m.gguf',
    fileSize: gguf.tensorBytes + 2 * MIB,
    contentId: 'sha256:abc',
    purpose: 'generation',
    gguf,
    ...changes,
  }
}

const ramOf = (changes: Partial<ModelSpec>, gguf?: GgufFacts): FootprintTerms =>
  planLoad(spec(changes), facts(gguf), HOST).footprint.ram as FootprintTerms

describe('context and slots', () => {
  it('are what the model was trained for, at most 8,192 tokens', () => {
    expect(planLoad(spec(), facts(), HOST)).toMatchObject({ contextSize: 8192, slots: 4 })
    expect(planLoad(spec(), facts(MIDDLE), HOST).contextSize).toBe(2048)
    const long = { ...SMOLLM2, contextLength: 131_072 }
    expect(planLoad(spec(), facts(long), HOST).contextSize).toBe(8192)
    expect(planLoad(spec({ context: 32_768 }), facts(long), HOST).contextSize).toBe(32_768)
  })

  it('M3: a context that nobody asked for is as large as the budget allows; one that was asked for stays', () => {
    const withBudget = (ram: number): HostFacts => ({ ...HOST, budget: { ram } })
    const bytes = (contextSize: number): number => footprintTotal(ramOf({ context: contextSize }))
    const sized = planLoad(spec(), facts(), withBudget(bytes(4096) + 1000))
    expect(sized.contextSize).toBe(4096)
    expect(footprintTotal(sized.footprint.ram as FootprintTerms)).toBe(bytes(4096))
    expect(planLoad(spec(), facts(), withBudget(bytes(4096) - 1000)).contextSize).toBe(4096 - 256)
    expect(planLoad(spec(), facts(), withBudget(bytes(8192))).contextSize).toBe(8192)
    // Not even the least fits: the usual one is planned, and refused with its numbers.
    expect(planLoad(spec(), facts(), withBudget(1000)).contextSize).toBe(8192)
    expect(planLoad(spec({ context: 8192 }), facts(), withBudget(bytes(4096))).contextSize).toBe(8192)
  })

  it('of an embedding model: one slot, evaluated in one batch', () => {
    const plan = planLoad(spec(), facts(SMOLLM2, { purpose: 'embedding' }), HOST)
    expect(plan).toMatchObject({ slots: 1, contextSize: 8192, capabilities: { tasks: ['embedding'] } })
    expect(shapeOfPlan(plan).batchSize).toBe(8192)
  })

  it.each([0, -1, 1.5, 500_000_000, 65_537])(
    'refuse a context of %d tokens, which would eat memory or mean nothing',
    (context) => {
      expect(() => planLoad(spec({ context }), facts(), HOST)).toThrow(
        /context must be from 1 to 65536 tokens/,
      )
    },
  )

  it('refuse more cells than the engine can count', () => {
    const endless = { ...SMOLLM2, contextLength: 2 ** 24 }
    expect(() => planLoad(spec({ context: 2 ** 24, slots: 16 }), facts(endless), HOST)).toThrow(
      /16 slots of 16777216 tokens are 268435456 cells and .*TiB/,
    )
    expect(() => planLoad(spec({ slots: 300 }), facts(), HOST)).toThrow(
      'slots must be from 1 to 256, not 300',
    )
  })
})

describe('threads', () => {
  it('R17: are one less than the cores, at least one, never more than there are', () => {
    expect(planLoad(spec(), facts(), HOST).threads).toBe(3)
    expect(planLoad(spec(), facts(), { ...HOST, cores: 1 }).threads).toBe(1)
    const asked = (threads: number): number =>
      planLoad(spec({ device: { gpu: false, threads, memoryLock: false } }), facts(), HOST).threads
    expect([asked(2), asked(64)]).toEqual([2, 4])
  })

  it('R17: of prompts are all cores, unless somebody named threads, models share a process, or there is one core', () => {
    const promptThreads = (changes: Partial<ModelSpec>, cores = 4): number | undefined =>
      planLoad(spec(changes), facts(), { ...HOST, cores }).promptThreads
    expect(promptThreads({})).toBe(4)
    expect(promptThreads({ device: { gpu: false, threads: 2, memoryLock: false } })).toBeUndefined()
    expect(promptThreads({ isolation: 'none' })).toBeUndefined()
    expect(promptThreads({}, 1)).toBeUndefined()
  })
})

describe('the footprint', () => {
  it('counts the KV cache of all slots whole, in cells of 256, by type', () => {
    expect(ramOf({ context: 2048 }).context).toBe(180 * MIB)
    expect(ramOf({ context: 2000, slots: 1 }).context).toBe(45 * MIB)
    expect(ramOf({ context: 2048, engineOptions: { kvCacheType: 'f32' } }).context).toBe(360 * MIB)
    expect(ramOf({ context: 2048, engineOptions: { kvCacheType: 'q8_0' } }).context).toBe(95.625 * MIB)
  })

  it('counts layers with their own number of heads, and those without a cache not at all', () => {
    const hybrid = { ...SMOLLM2, kvHeads: [3, 0, 0, 1] }
    expect(ramOf({ context: 256, slots: 1 }, hybrid).context).toBe(256 * 4 * 128 * 2)
  })

  // MiB that a worker process held (private + file pages, those of the program whole), all slots used, on Linux.
  it.each<[string, GgufFacts, Partial<ModelSpec>, number]>([
    ['SmolLM2, 1 × 2048', SMOLLM2, { context: 2048, slots: 1 }, 297],
    ['SmolLM2, 4 × 2048', SMOLLM2, { context: 2048 }, 449],
    ['SmolLM2, 4 × 8192', SMOLLM2, { context: 8192 }, 995],
    ['201 MB F32, 1 × 2048', MIDDLE, { context: 2048, slots: 1 }, 319],
    ['201 MB F32, 4 × 8192', MIDDLE, { context: 8192 }, 490],
    ['53 MB Q8_0, 1 × 4096', { ...MIDDLE, tensorBytes: 53_520_000 }, { context: 4096, slots: 1 }, 182],
    [
      '28 MB Q4_0, 1 × 2048',
      { ...MIDDLE, tensorBytes: 28_312_000, repackedBytes: 24_768_000 },
      { context: 2048, slots: 1 },
      167,
    ],
    ['74 MB Q8_0, vocabulary of 128,000, 4 × 4096', WIDE, { context: 4096 }, 280],
  ])('is what was measured, and errs on the careful side: %s', (_, gguf, changes, measured) => {
    const planned = footprintTotal(ramOf(changes, gguf)) / MIB
    expect(planned / measured).toBeGreaterThan(0.95)
    expect(planned / measured).toBeLessThan(1.2)
  })

  it('shares what is mapped from the file, by the content of the file, and nothing else', () => {
    const repacked = { ...SMOLLM2, repackedBytes: 50 * MIB }
    const plan = planLoad(spec(), facts(repacked), HOST)
    expect(plan.sharedWeights).toEqual({ key: 'sha256:abc', domain: 'ram', bytes: SMOLLM2.tensorBytes })
    expect(plan.footprint.ram?.weights).toBe(SMOLLM2.tensorBytes + 50 * MIB)
    expect(
      planLoad(spec({ engineOptions: { memoryMap: false } }), facts(), HOST).sharedWeights,
    ).toBeUndefined()
    const locked = spec({ device: { gpu: false, memoryLock: true } })
    expect(planLoad(locked, facts(), HOST).sharedWeights).toBeUndefined()
  })

  it('plain attention costs scores for every head, where they are more than the feed-forward, and a mask of twice the size', () => {
    const compute = (flashAttention: boolean): number =>
      ramOf({ engineOptions: { flashAttention, batchSize: 256 } }).compute
    const difference = 256 * 8192 * (9 * 4 + 2) + 256 * 4 * ((9 + 3) * 128 - 3 * 1536 - 576)
    expect(compute(false) - compute(true)).toBe(difference)
  })

  it('plain attention on a processor is evaluated in batches of 64, unless another is named; flash attention is the engine’s choice', () => {
    const shape = (engineOptions: Record<string, unknown>): LoadShape =>
      shapeOfPlan(planLoad(spec({ engineOptions }), facts(), HOST))
    expect(shape({})).toMatchObject({ flashAttention: 'auto', batchSize: 256 })
    expect(shape({ flashAttention: false })).toMatchObject({ flashAttention: false, batchSize: 64 })
    expect(shape({ flashAttention: false, batchSize: 32 }).batchSize).toBe(32)
  })
})

describe('a GPU', () => {
  const gpuHost = (free: number): HostFacts => ({
    ...HOST,
    memory: { ...HOST.memory, 'gpu:0': { total: 24e9, available: free, source: 'test' } },
  })

  it('takes all layers when they fit, and the rest stays in memory', () => {
    const { footprint, sharedWeights } = planLoad(spec(), facts(), gpuHost(8e9))
    expect(footprint['gpu:0']?.weights).toBe(SMOLLM2.tensorBytes)
    expect(footprint.ram).toMatchObject({ weights: 0, context: 0 })
    expect(sharedWeights).toBeUndefined()
  })

  it('takes as many layers as fit, never more than its free memory', () => {
    const free = 400 * MIB
    const plan = planLoad(spec(), facts(), gpuHost(free))
    const share = shapeOfPlan(plan).gpuShare
    expect(share).toBeGreaterThan(0)
    expect(share).toBeLessThan(1)
    expect(footprintTotal(plan.footprint['gpu:0'] as FootprintTerms)).toBeLessThan(free)
  })

  it('takes the layers asked for, and none when it is switched off', () => {
    const some = planLoad(
      spec({ device: { gpu: true, gpuLayers: 10, memoryLock: false } }),
      facts(),
      gpuHost(8e9),
    )
    expect(shapeOfPlan(some).gpuShare).toBeCloseTo(10 / 31, 6)
    const off = planLoad(spec({ device: { gpu: false, memoryLock: false } }), facts(), gpuHost(8e9))
    expect(Object.keys(off.footprint)).toEqual(['ram'])
  })
})

describe('the key', () => {
  const key = (changes: Partial<ModelSpec> = {}, content = 'sha256:abc'): string =>
    planLoad(spec(changes), facts(SMOLLM2, { contentId: content }), HOST).key

  it('is the same for the same load, whatever the model is called or how it is kept', () => {
    expect(key({ id: 'other', keepAlive: 1, aliases: ['x'] })).toBe(key())
  })

  it.each<[string, Partial<ModelSpec>]>([
    ['options', { engineOptions: { fullWindow: true, memoryMap: true, checkTensors: false, lora: [] } }],
    ['attention', { engineOptions: { flashAttention: 'auto' } }],
    ['cache', { engineOptions: { kvCacheType: 'f16' } }],
    ['batch', { engineOptions: { batchSize: 256 } }],
    ['context', { context: 8192 }],
    ['threads', { device: { gpu: 'auto', threads: 3, memoryLock: false } }],
  ])('is the same where a default is written down: %s', (_, changes) => {
    expect(key(changes)).toBe(key())
  })

  it.each<[string, Partial<ModelSpec>]>([
    ['window', { engineOptions: { fullWindow: false } }],
    ['mapping', { engineOptions: { memoryMap: false } }],
    ['checks', { engineOptions: { checkTensors: true } }],
    ['attention', { engineOptions: { flashAttention: false } }],
    ['batch', { engineOptions: { batchSize: 128 } }],
    ['context', { context: 4096 }],
    ['slots', { slots: 2 }],
    ['threads', { device: { gpu: 'auto', threads: 1, memoryLock: false } }],
    ['cache', { engineOptions: { kvCacheType: 'f32' } }],
    ['adapters', { engineOptions: { lora: [{ path: '/a.gguf' }] } }],
  ])('differs by %s', (_, changes) => {
    expect(key(changes)).not.toBe(key())
  })

  it('BR-51: differs by the content of the file', () => {
    expect(key({}, 'sha256:def')).not.toBe(key())
  })
})

describe('refusals', () => {
  it('a model without a GGUF file, and a file without a tokenizer', () => {
    expect(() =>
      planLoad(spec(), { format: 'none', fileSize: 0, contentId: '', purpose: 'generation' }, HOST),
    ).toThrow('has no GGUF file')
    expect(() => planLoad(spec(), facts({ ...SMOLLM2, vocabularySize: 0 }), HOST)).toThrow('no tokenizer')
  })

  it('M17: an architecture that the engine does not know, before anything is loaded', () => {
    expect(() => planLoad(spec(), facts({ ...SMOLLM2, architecture: 'hal9000' }), HOST)).toThrow(
      'Model "m" is of the architecture "hal9000", which node-llama-cpp 3.21 does not know. Choose another model, or an engine that knows it.',
    )
  })

  it('P1: an unknown option names itself and the nearest known one', () => {
    expect(() => planLoad(spec({ engineOptions: { batchsize: 5 } }), facts(), HOST)).toThrow(
      /batchsize.*batchSize/s,
    )
  })
})

describe('two GPUs (R14, P8)', () => {
  /** The two cards of NVIDIA's manual, as the probe tells of them. */
  async function twoCards(): Promise<HostFacts> {
    const watch = new DeviceWatch({
      clock: new ManualClock(),
      platform: 'linux',
      drmRoot: '/nowhere',
      read: (_command, [query = '']) =>
        Promise.resolve({
          code: 0,
          output: query.includes('query-gpu') ? NVIDIA_TWO_CARDS : NVIDIA_PROCESSES,
        }),
    })
    await watch.refresh()
    return { ...HOST, memory: { ...HOST.memory, ...watch.read() } }
  }

  const free = (host: HostFacts, device: MemoryDomain, bytes: number): HostFacts => {
    const reading = host.memory[device] as DomainReading
    return { ...host, memory: { ...host.memory, [device]: { ...reading, available: bytes } } }
  }

  const devices = (host: HostFacts, more: Partial<ModelSpec> = {}): string[] =>
    Object.keys(planLoad(spec(more), facts(), host).footprint).filter((domain) => domain !== 'ram')

  it('the one with most free memory takes the model whole, and its bytes are booked there alone', async () => {
    const host = await twoCards()
    expect(devices(host)).toEqual(['gpu:0'])
    const busy = free(host, 'gpu:0', 2e9)
    const plan = planLoad(spec(), facts(), busy)
    expect(plan.footprint['gpu:0']).toBeUndefined()
    expect(plan.footprint['gpu:1']?.weights).toBe(SMOLLM2.tensorBytes)
    expect(shapeOfPlan(plan)).toMatchObject({ gpuShare: 1, device: 'gpu:1' })
    expect(gpuOf(plan)).toBe('auto')
    expect(plan.key).not.toBe(planLoad(spec(), facts(), host).key)
  })

  it('what is promised to loads in progress is not free, whatever the driver says', async () => {
    const host = await twoCards()
    expect(devices({ ...host, free: { 'gpu:0': 0, 'gpu:1': 10e9 } })).toEqual(['gpu:1'])
  })

  it('the one that takes more of its layers wins over the one with more room of no use', async () => {
    const host = free(free(await twoCards(), 'gpu:0', 400 * MIB), 'gpu:1', 600 * MIB)
    expect(devices(host)).toEqual(['gpu:1'])
    expect(devices(free(free(host, 'gpu:0', 1), 'gpu:1', 1))).toEqual([])
  })

  it.each([
    ['gpu:1', ['gpu:1']],
    ['rtx 3060', ['gpu:1']],
    ['4090', ['gpu:0']],
    ['cuda', ['gpu:0']],
    [true, ['gpu:0']],
    [false, []],
  ] as const)('device.gpu %j is %j', async (gpu, expected) => {
    expect(devices(await twoCards(), { device: { gpu, memoryLock: false } })).toEqual(expected)
  })

  it('a device that is not there is refused with those that are', async () => {
    const host = await twoCards()
    const wanting = (gpu: string): LoadPlan =>
      planLoad(spec({ device: { gpu, memoryLock: false } }), facts(), host)
    expect(() => wanting('gpu:7')).toThrow(
      /demands the device "gpu:7", and there is none of that name\. Here are gpu:0 \(nvidia-smi, NVIDIA GeForce RTX 4090\), gpu:1/,
    )
    expect(() => wanting('Radeon')).toThrow(/none of that name/)
  })

  it('in the server’s own process none can be chosen: memory is used, and a demand is refused', async () => {
    const host = await twoCards()
    expect(devices(host, { isolation: 'none' })).toEqual([])
    const demand = spec({ isolation: 'none', device: { gpu: true, memoryLock: false } })
    expect(() => planLoad(demand, facts(), host)).toThrow(/isolation: worker/)
  })
})
