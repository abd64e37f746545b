import { assert, boolean, double, property } from 'fast-check'
import { expect, it } from 'vitest'
import type { GgufFacts } from '../../models/model-facts.ts'
import { batchSizeFor } from './batch-size.ts'

const gguf = (parameterCount: number): GgufFacts => ({ parameterCount }) as GgufFacts

it('a batch takes at most a second at the measured speed, and no smaller one would do: nobody waits longer for a prefill', () => {
  assert(
    property(double({ min: 32, max: 20_000, noNaN: true }), boolean(), (measuredSpeed, onGpu) => {
      const batch = batchSizeFor(gguf(1e9), { cores: 4, onGpu, measuredSpeed })
      expect(batch / measuredSpeed).toBeLessThanOrEqual(1)
      expect(Math.log2(batch) % 1).toBe(0)
      const most = onGpu ? 2048 : 512
      expect(batch === most || (batch * 2) / measuredSpeed > 1).toBe(true)
    }),
  )
})

it.each([
  // As measured: 340 tokens a second, 0.75 s for 256.
  [340, 256],
  [512, 512],
  [1e6, 512],
  // Smaller ones cost more than they gain.
  [31, 32],
  [0, 32],
])('at %d tokens a second on a CPU it has %d tokens', (measuredSpeed, tokens) => {
  expect(batchSizeFor(gguf(1e9), { cores: 4, onGpu: false, measuredSpeed })).toBe(tokens)
})

it('without a measurement it is guessed from the cores and the size of the model, on a GPU large', () => {
  const of = (parameterCount: number, cores: number): number =>
    batchSizeFor(gguf(parameterCount), { cores, onGpu: false })
  expect([of(135e6, 2), of(1e9, 4), of(8e9, 4), of(70e9, 8), of(0, 1)]).toEqual([128, 32, 32, 32, 512])
  expect(batchSizeFor(gguf(8e9), { cores: 4, onGpu: true })).toBe(2048)
})
