import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { Result } from '../../tasks/part.ts'
import { NO_USAGE } from '../../tasks/usage.ts'
import { PART_WINDOW } from './protocol.ts'
import { WorkerRun, type Batch } from './worker-run.ts'

const RESULT: Result = { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }
const BATCH: Batch = { parts: [{ type: 'text', text: 'a' }], made: 1 }

interface Rig {
  run: WorkerRun
  clock: ManualClock
  abort: AbortController
  said: string[]
}

function rig(): Rig {
  const clock = new ManualClock()
  const abort = new AbortController()
  const said: string[] = []
  const run = new WorkerRun({
    clock,
    signal: abort.signal,
    abortDeadline: 2000,
    sendCredit: (parts) => said.push(`credit ${parts}`),
    sendAbort: () => said.push('abort'),
    stuck: () => said.push('stuck'),
  })
  return { run, clock, abort, said }
}

describe("the server's side of a run", () => {
  it('hands out what came before the end, then the result', async () => {
    const { run } = rig()
    run.accept(BATCH)
    run.end({ result: RESULT })
    expect(await run.nextBatch()).toBe(BATCH)
    expect(await run.nextBatch()).toBeUndefined()
    expect(run.result()).toBe(RESULT)
  })

  it('throws the error of the end, the first one', async () => {
    const { run } = rig()
    run.end({ error: new ModelyardError('engine_failed', 'first') })
    run.end({ error: new ModelyardError('worker_exited', 'second') })
    expect(await run.nextBatch()).toBeUndefined()
    expect(() => run.result()).toThrow('first')
  })

  it('gives credit back in quarters of the window', () => {
    const { run, said } = rig()
    run.giveBack(PART_WINDOW / 4 - 1)
    expect(said).toEqual([])
    run.giveBack(2)
    expect(said).toEqual([`credit ${PART_WINDOW / 4 + 1}`])
  })

  it('that is cancelled drops what waits, tells the worker once, and is not over until the worker says so', async () => {
    const { run, said } = rig()
    run.accept(BATCH)
    run.cancel()
    run.cancel()
    run.accept(BATCH)
    let over = false
    const ended = run.ended().then(() => (over = true))
    await Promise.resolve()
    expect(over).toBe(false)
    run.end({ error: new ModelyardError('aborted', 'confirmed') })
    await ended
    expect(said).toEqual(['abort'])
  })

  it('is stuck when the worker does not confirm within the deadline (R12), and not otherwise', () => {
    const { run, said, clock } = rig()
    run.cancel()
    clock.advance(1999)
    expect(said).toEqual(['abort'])
    clock.advance(1)
    expect(said).toEqual(['abort', 'stuck'])
    const other = rig()
    other.run.cancel()
    other.run.end({ result: RESULT })
    other.clock.advance(5000)
    expect(other.said).toEqual(['abort'])
  })

  it('has nothing to cancel after the end', () => {
    const { run, said, clock } = rig()
    run.end({ result: RESULT })
    run.cancel()
    clock.advance(5000)
    expect(said).toEqual([])
  })

  it('throws the reason of a fired signal, whatever else came', () => {
    const { run, abort } = rig()
    abort.abort(new ModelyardError('timeout', 'the reason'))
    run.end({ error: new ModelyardError('worker_exited', 'died of it') })
    expect(() => run.result()).toThrow('the reason')
  })

  it('knows whether its reader waits', async () => {
    const { run } = rig()
    expect(run.waiting).toBe(false)
    const next = run.nextBatch()
    expect(run.waiting).toBe(true)
    run.accept(BATCH)
    await next
    expect(run.waiting).toBe(false)
  })
})
