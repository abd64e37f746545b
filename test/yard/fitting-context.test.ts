import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard } from '../../src/index.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'

const MIB = 1024 ** 2

describe('a context that nobody asked for (M3)', () => {
  let folder = ''
  let file = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fitting-context-'))
    // Its whole context of 8,192 tokens in 4 slots has 1 GiB.
    file = makeTinyModel(join(folder, 'wide.gguf'), {
      mode: 'tiled',
      dimension: 512,
      layers: 16,
      heads: 8,
      keyValueHeads: 8,
      context: 8192,
      type: 'q8_0',
    }).path
  })
  afterAll(async () => await rm(folder, { recursive: true, force: true }))

  it('is made to fit the budget, and one that was asked for is refused with the largest that fits', async () => {
    await using yard = await createYard({
      home: join(folder, 'home'),
      memory: { budget: '500MiB', headroom: '64MiB' },
      models: { free: { file }, asked: { file, context: 8192 } },
    })
    const free = await yard.plan('free')
    expect(free.outcome).toBe('fits')
    expect(free.contextSize).toBeGreaterThan(1024)
    expect(free.contextSize).toBeLessThan(8192)
    expect(free.bytes.ram).toBeLessThanOrEqual(500 * MIB)
    // One step more would be too much.
    expect(free.largestContext).toBe(free.contextSize)
    const asked = await yard.plan('asked')
    expect(asked).toMatchObject({ outcome: 'refused', contextSize: 8192 })
    // Told from the plan for 8,192 tokens, whose buffers are larger: a little less.
    expect(asked.largestContext).toBeGreaterThan(0.9 * free.contextSize)
    expect(asked.largestContext).toBeLessThanOrEqual(free.contextSize)
  })
})
