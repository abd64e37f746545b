import { describe, expect, it } from 'vitest'
import { identityOf, isAlive, isProvenAlive, readProcessStat } from './process-identity.ts'

describe('the identity of a process', () => {
  const ours = identityOf(process.pid)

  it('is alive with its own start time only', () => {
    expect(isAlive(ours)).toBe(true)
    expect(isAlive({ ...ours, startTime: '1' })).toBe(false)
  })

  it('is not proven without a start time', () => {
    expect(isProvenAlive(ours)).toBe(process.platform !== 'win32')
    expect(isProvenAlive({ ...ours, startTime: null })).toBe(false)
    expect(isAlive({ ...ours, startTime: null })).toBe(true)
  })

  it.each([0, -1, 1.5, Number.NaN, 2 ** 30])('is dead for the pid %d', (pid) => {
    expect(isAlive({ pid, startTime: null })).toBe(false)
  })

  it.runIf(process.platform === 'linux')('has the parent and a start time that the kernel tells', () => {
    expect(readProcessStat(process.pid)).toMatchObject({ parent: process.ppid })
    expect(readProcessStat(process.pid)?.startTime).toMatch(/^\d+$/)
  })
})
