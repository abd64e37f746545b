import { describe, expect, it } from 'vitest'
import { ContextGate } from './context-gate.ts'

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

/** Somebody's work that ends when it is told to. */
function work(): { run: () => Promise<string>; end: () => void; fail: (error: Error) => void } {
  let [end, fail]: [() => void, (error: Error) => void] = [() => undefined, () => undefined]
  const done = new Promise<string>((resolve, reject) => {
    end = () => resolve('done')
    fail = reject
  })
  return { run: () => done, end: () => end(), fail: (error) => fail(error) }
}

describe('the gate of a context', () => {
  it('is open while nobody wants the context for himself', async () => {
    const gate = new ContextGate()
    expect(gate.turn).toBeUndefined()
    expect(await gate.alone(async () => 5)).toBe(5)
    expect(gate.turn).toBeUndefined()
  })

  it('holds steps back until all who want it are done', async () => {
    const gate = new ContextGate()
    const [first, second] = [work(), work()]
    const results = Promise.all([gate.alone(first.run), gate.alone(second.run)])
    let stepped = false
    const step = gate.turn?.then(() => (stepped = true))
    first.end()
    await settle()
    expect([stepped, gate.turn === undefined]).toEqual([false, false])
    second.end()
    await step
    expect([stepped, gate.turn]).toEqual([true, undefined])
    expect(await results).toEqual(['done', 'done'])
  })

  it('opens after work that failed', async () => {
    const gate = new ContextGate()
    const failing = work()
    const result = gate.alone(failing.run)
    failing.fail(new Error('no'))
    await expect(result).rejects.toThrow('no')
    expect(gate.turn).toBeUndefined()
  })
})
