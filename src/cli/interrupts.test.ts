import { EventEmitter } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { Interrupts } from './interrupts.ts'

describe('Interrupts', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('the first %s winds up, the second leaves at once', (name, code) => {
    const source = new EventEmitter()
    const leave = vi.fn()
    const interrupts = new Interrupts(source, leave)
    expect(interrupts.exitCode).toBeUndefined()
    expect(interrupts.codeFor(130)).toBe(130)
    source.emit(name)
    expect(interrupts.signal.reason).toMatchObject({ code: 'aborted' })
    expect(interrupts.exitCode).toBe(code)
    expect(interrupts.codeFor(130)).toBe(code)
    expect([0, 1, 9].map((own) => interrupts.codeFor(own as 0 | 1 | 9))).toEqual([0, 1, 9])
    expect(leave).not.toHaveBeenCalled()
    source.emit(name)
    expect(leave).toHaveBeenCalledExactlyOnceWith(code)
  })
})
