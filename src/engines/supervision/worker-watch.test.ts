import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { WorkerWatch } from './worker-watch.ts'

interface Rig {
  watch: WorkerWatch
  clock: ManualClock
  seen: { pings: number; ended: string[]; held: boolean }
}

function rig({ answers }: { answers: boolean }): Rig {
  const clock = new ManualClock()
  const seen: Rig['seen'] = { pings: 0, ended: [], held: false }
  const watch = new WorkerWatch({
    clock,
    deadlines: { wake: 3000, silence: 5000, stall: 20_000 },
    sendPing: () => {
      seen.pings++
      if (answers) watch.heard()
    },
    heldByReaders: () => seen.held,
    end: (reason) => seen.ended.push(reason),
  })
  return { watch, clock, seen }
}

describe('the watch over a worker (M19)', () => {
  it('leaves an idle worker alone', () => {
    const { clock, seen } = rig({ answers: false })
    clock.advance(1e6)
    expect(seen).toEqual({ pings: 0, ended: [], held: false })
  })

  it('ends a worker that has work and does not answer', () => {
    const { watch, clock, seen } = rig({ answers: false })
    watch.begin()
    watch.heard()
    clock.advance(5999)
    expect(seen.ended).toEqual([])
    clock.advance(1)
    expect(seen.ended).toEqual(['it did not answer for 5 s while it had work'])
  })

  it('R12: asks an idle worker at once when work comes, and ends one that does not answer much sooner', () => {
    const { watch, clock, seen } = rig({ answers: false })
    watch.begin()
    expect(seen.pings).toBe(1)
    clock.advance(2999)
    expect(seen.ended).toEqual([])
    clock.advance(1)
    expect(seen.ended).toEqual(['it was idle and did not answer for 3 s when it got work'])
  })

  it('ends a worker that answers, but whose run makes no progress', () => {
    const { watch, clock, seen } = rig({ answers: true })
    watch.begin()
    clock.advance(19_999)
    expect(seen.ended).toEqual([])
    clock.advance(1)
    expect(seen.ended).toEqual(['a run made no progress for 20 s'])
  })

  it('does not end one that moves now and then', () => {
    const { watch, clock, seen } = rig({ answers: true })
    watch.begin()
    for (let round = 0; round < 10; round++) {
      clock.advance(15_000)
      watch.moved()
    }
    expect(seen.ended).toEqual([])
  })

  it('does not blame the worker for a slow reader', () => {
    const { watch, clock, seen } = rig({ answers: true })
    watch.begin()
    seen.held = true
    clock.advance(600_000)
    expect(seen.ended).toEqual([])
    seen.held = false
    clock.advance(20_000)
    expect(seen.ended).toHaveLength(1)
  })

  it('stops with the work and starts anew with the next', () => {
    const { watch, clock, seen } = rig({ answers: false })
    watch.begin()
    clock.advance(2000)
    watch.end()
    clock.advance(60_000)
    watch.begin()
    clock.advance(2000)
    expect(seen.ended).toEqual([])
  })

  it('counts looks, not time: a server that stood still for an hour accuses nobody (M21)', () => {
    // A clock that was stopped: the one timer that was due fires late, once.
    let now = 0
    let due: (() => void) | undefined
    const ended: string[] = []
    const watch = new WorkerWatch({
      clock: {
        now: () => now,
        wallTime: () => now,
        setTimer: (_, callback) => {
          due = callback
          return { cancel: () => undefined }
        },
      },
      deadlines: { wake: 3000, silence: 5000, stall: 20_000 },
      sendPing: () => undefined,
      heldByReaders: () => false,
      end: (reason) => ended.push(reason),
    })
    watch.begin()
    due?.()
    now = 3_600_000
    due?.()
    expect(ended).toEqual([])
  })
})
