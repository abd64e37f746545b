import { describe, expect, it } from 'vitest'
import type { HostReading } from '../host/memory.ts'
import type { PoolLimits } from '../pool/limits.ts'
import { yardDirectories } from './directories.ts'
import { parseConfiguration } from './parse-configuration.ts'
import { poolLimits } from './pool-limits.ts'

const GIB = 1024 ** 3
const reading = (total: number): { total: number; available: number; source: string } => ({
  total,
  available: total,
  source: 'test',
})

function limits(input: unknown, memory: HostReading = { ram: reading(16 * GIB) }): PoolLimits {
  const directories = yardDirectories({ MODELYARD_HOME: '/yard' }, '/')
  return poolLimits(parseConfiguration(input, { directories, directory: '/' }), { cores: 8, memory })
}

describe('poolLimits', () => {
  it('budgets three quarters of memory and nine tenths of each device by default', () => {
    const { memory } = limits({}, { ram: reading(16 * GIB), 'gpu:0': reading(10 * GIB) })
    expect(memory.ram?.budget).toBe(12 * GIB)
    expect(memory['gpu:0']?.budget).toBe(9 * GIB)
  })

  it('takes bytes and shares as they were written, per domain', () => {
    const { memory } = limits(
      { memory: { budget: { ram: '50%', 'gpu:0': '2GiB' }, absolute: '60%' } },
      { ram: reading(16 * GIB), 'gpu:0': reading(10 * GIB) },
    )
    expect(memory.ram?.budget).toBe(8 * GIB)
    expect(memory.ram?.absolute).toBe(Math.floor(9.6 * GIB))
    expect(memory['gpu:0']?.budget).toBe(2 * GIB)
  })

  it('M2: an absolute limit below the budget is refused, also where only the machine tells', () => {
    expect(() => limits({ memory: { budget: '14GiB', absolute: '10GiB' } })).toThrow(
      'memory.absolute must not be below the budget of ram: 10 GiB < 14 GiB',
    )
    expect(() => limits({ memory: { budget: '14GiB', absolute: '50%' } })).toThrow(
      'memory.absolute of ram is 8 GiB on this machine, below the budget of 14 GiB',
    )
  })

  it('what was left open gives way to what was said', () => {
    expect(limits({ memory: { budget: '15GiB' } }).memory.ram).toEqual({
      budget: 15 * GIB,
      absolute: 15 * GIB,
    })
    expect(limits({ memory: { absolute: '4GiB' } }).memory.ram).toEqual({
      budget: 4 * GIB,
      absolute: 4 * GIB,
    })
  })

  it('gives a domain that cannot be read no limits: nothing may be loaded there (R5)', () => {
    expect(limits({ memory: { budget: { 'gpu:0': '1GiB' } } }, {}).memory).toEqual({})
  })

  it('keeps less free on small machines', () => {
    expect(limits({}, { ram: reading(8 * GIB) }).headroom).toBe(1.5 * GIB)
    expect(limits({}, { ram: reading(8 * GIB - 1) }).headroom).toBe(0.5 * GIB)
    expect(limits({ memory: { headroom: 0 } }).headroom).toBe(0)
  })

  it('budgets the cores, a number of threads, or none at all (R17)', () => {
    expect(limits({}).threads).toBe(8)
    expect(limits({ cpu: { threads: 3 } }).threads).toBe(3)
    expect(limits({ cpu: { oversubscribe: true } }).threads).toBe(Number.MAX_SAFE_INTEGER)
  })
})
