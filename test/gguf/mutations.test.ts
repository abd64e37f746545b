import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { ModelyardError } from '../../src/base/errors.ts'
import { readGgufFacts } from '../../src/models/gguf/read-gguf-facts.ts'
import { buildGguf, type BuiltTensor, type BuiltValue, llamaMetadata, type ScalarType } from './build-gguf.ts'

const RUNS = Number(process.env['MODELYARD_PROPERTY_RUNS'] ?? 500)
/** The reader's window is 256 KiB, a kept text at most 1 MiB. */
const LARGEST_BUFFER = 1024 * 1024
const HEADER = 12_896

let folder: string
let path: string
let tiny: Buffer
let largest = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gguf-mutations-'))
  path = join(folder, 'mutated.gguf')
  tiny = await readFile(resolve(import.meta.dirname, '../models/tiny-chat/tiny-chat.gguf'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

/** Sees how much memory the reader asks for at once. */
beforeEach(() => {
  largest = 0
  for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow'] as const) {
    const original = Buffer[name].bind(Buffer) as (size: number) => Buffer
    vi.spyOn(Buffer, name).mockImplementation(((size: number) => {
      largest = Math.max(largest, size)
      return original(size)
    }) as never)
  }
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** A value or a ModelyardError, within seconds, without asking for much memory. */
async function readSafely(bytes: Buffer): Promise<boolean> {
  await writeFile(path, bytes)
  largest = 0
  const begun = performance.now()
  const sound = await readGgufFacts(path).then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof ModelyardError)) throw error
      expect(['model_file_invalid', 'unsupported']).toContain(error.code)
      return false
    },
  )
  expect(performance.now() - begun).toBeLessThan(10_000)
  expect(largest).toBeLessThanOrEqual(LARGEST_BUFFER)
  return sound
}

/** Reads as many files as there are runs; how many were sound and how many refused. */
async function outcomesOf<Mutation>(
  mutations: fc.Arbitrary<Mutation>,
  build: (mutation: Mutation) => Buffer,
): Promise<{ sound: number; refused: number }> {
  const outcomes = { sound: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(mutations, async (mutation) => {
      outcomes[(await readSafely(build(mutation))) ? 'sound' : 'refused']++
    }),
    { numRuns: RUNS },
  )
  return outcomes
}

describe('a hostile GGUF file gives a value or an error, never a crash, a hang or much memory (S5, BR-23)', () => {
  it('with bytes of the header changed', async () => {
    const change = fc.tuple(fc.integer({ min: 0, max: HEADER - 1 }), fc.integer({ min: 0, max: 255 }))
    const outcomes = await outcomesOf(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
      const bytes = Buffer.from(tiny)
      for (const [at, byte] of changes) bytes[at] = byte
      return bytes
    })
    // Both happen, so that the property is not true of a reader that refuses or accepts everything.
    expect(outcomes.sound).toBeGreaterThan(0)
    expect(outcomes.refused).toBeGreaterThan(0)
  })

  it('with a large number written over any place', async () => {
    const number = fc.constantFrom(0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n)
    const place = fc.integer({ min: 4, max: HEADER - 8 })
    const outcomes = await outcomesOf(fc.tuple(place, number), ([at, value]) => {
      const bytes = Buffer.from(tiny)
      bytes.writeBigUInt64LE(value, at)
      return bytes
    })
    expect(outcomes.refused).toBeGreaterThan(outcomes.sound)
  })

  it('cut anywhere, with noise behind the cut or without', async () => {
    const cut = fc.tuple(fc.integer({ min: 0, max: HEADER + 64 }), fc.uint8Array({ maxLength: 300 }))
    const outcomes = await outcomesOf(cut, ([at, noise]) => Buffer.concat([tiny.subarray(0, at), noise]))
    expect(outcomes.sound).toBe(0)
  })

  it('with a piece of it moved to another place', async () => {
    const place = fc.integer({ min: 4, max: HEADER - 1 })
    const move = fc.tuple(place, place, fc.integer({ min: 1, max: 2000 }))
    const outcomes = await outcomesOf(move, ([from, to, length]) => {
      const bytes = Buffer.from(tiny)
      tiny.copy(bytes, to, from, Math.min(from + length, HEADER))
      return bytes
    })
    expect(outcomes.refused).toBeGreaterThan(outcomes.sound)
  })

  it('with generated keys and tensors', async () => {
    const file = fc.tuple(fc.array(generatedPair, { maxLength: 20 }), generatedTensors)
    const outcomes = await outcomesOf(file, ([pairs, tensors]) =>
      buildGguf({ metadata: [...llamaMetadata(), ...pairs], tensors }),
    )
    expect(outcomes.refused).toBeGreaterThan(0)
  })

  it('with noise after the magic', async () => {
    const outcomes = await outcomesOf(fc.uint8Array({ maxLength: 4000 }), (noise) =>
      Buffer.concat([tiny.subarray(0, 8), noise]),
    )
    expect(outcomes.sound).toBe(0)
  })
})

const KEYS = llamaMetadata().map(([key]) => key)
const key = fc.oneof(fc.constantFrom(...KEYS, 'split.count', 'general.alignment', 'adapter.x'), fc.string())
const scalar = fc.oneof(
  fc.nat().map((value): BuiltValue => ({ type: 'u32', value })),
  fc.integer().map((value): BuiltValue => ({ type: 'i32', value })),
  fc.float().map((value): BuiltValue => ({ type: 'f32', value })),
  fc.string().map((value): BuiltValue => ({ type: 'string', value })),
  fc.bigInt(0n, 2n ** 64n - 1n).map((value): BuiltValue => ({ type: 'u64', value })),
)
const array = fc
  .tuple(fc.constantFrom<ScalarType>('i32', 'f32', 'string', 'f64'), fc.array(fc.integer()))
  .map(([of, value]): BuiltValue => ({ type: 'array', of, value }))
const generatedPair: fc.Arbitrary<[string, BuiltValue]> = fc.tuple(key, fc.oneof(scalar, array))

const generatedTensors = fc.array(
  fc.record({
    name: fc.string({ maxLength: 70 }),
    dimensions: fc.array(fc.oneof(fc.nat({ max: 512 }), fc.bigInt(0n, 2n ** 64n - 1n)), { maxLength: 5 }),
    type: fc.nat({ max: 50 }),
    bytes: fc.nat({ max: 4096 }),
    offset: fc.oneof(fc.nat({ max: 8192 }), fc.bigInt(0n, 2n ** 64n - 1n)),
  }),
  { maxLength: 6 },
) as fc.Arbitrary<BuiltTensor[]>
