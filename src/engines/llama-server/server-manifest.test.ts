import { expect, it } from 'vitest'
import { instructionsAmong, lackingInstructions } from './server-manifest.ts'

const HERE = new Set(['fpu', 'avx2', 'avx', 'tsc_known_freq', 'sse4_2'])

it('of the flags of a processor those count that a compiler makes use of', () => {
  expect(instructionsAmong(HERE)).toEqual(['avx', 'avx2', 'sse4_2'])
  expect(instructionsAmong(new Set())).toEqual([])
  expect(instructionsAmong(undefined)).toBeUndefined()
})

it('a program compiled on another processor is told by what this one lacks; what is unknown is no reason', () => {
  const compiled = { version: '0.4.0', from: 'source' as const, instructions: ['avx', 'avx512f'] }
  expect(lackingInstructions(compiled, HERE)).toEqual(['avx512f'])
  expect(lackingInstructions(compiled, undefined)).toEqual([])
  expect(lackingInstructions({ version: '2026.10', from: 'wheel' }, HERE)).toEqual([])
})
