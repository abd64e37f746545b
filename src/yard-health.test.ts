import { describe, expect, it } from 'vitest'
import { ManualClock } from './base/clock.ts'
import type { LoadedModel } from './engines/engine.ts'
import type { InstanceStatus, PoolStatus } from './pool/pool-status.ts'
import { examineHealth, yardHealth, type HealthSources } from './yard-health.ts'

const clock = new ManualClock()

function sources(
  changes: { delay?: number; store?: HealthSources['store']; ping?: () => Promise<void> } = {},
): HealthSources {
  const { delay = 0, store = { durable: true, writable: true }, ping = async () => undefined } = changes
  const instances = [{ id: 'a#1', state: 'ready' } as InstanceStatus]
  return {
    pool: {
      schedulerDelay: delay,
      status: () => ({ instances }) as PoolStatus,
      loadedOf: () => ({ ping }) as unknown as LoadedModel,
    },
    store,
    clock,
  }
}

describe('ready is more than alive (H4)', () => {
  it('all is well', async () => {
    expect(await examineHealth(sources())).toEqual({
      ready: true,
      scheduler: 'ok',
      store: 'ok',
      workers: 'ok',
    })
  })

  it('a scheduler that did not look when it should have is not ready; a busy machine may be a little late', () => {
    expect(yardHealth(sources({ delay: 9000 })).ready).toBe(true)
    expect(yardHealth(sources({ delay: 11_000 }))).toMatchObject({
      ready: false,
      scheduler: 'stuck',
      reason: 'The scheduler should have looked at its queue 11 s ago.',
    })
  })

  it('a database that takes nothing any more is not ready; one that never could be written is said', () => {
    expect(yardHealth(sources({ store: { durable: true, writable: false } }))).toMatchObject({
      ready: false,
      store: 'not writable',
    })
    expect(yardHealth(sources({ store: { durable: false, writable: false } }))).toMatchObject({
      ready: true,
      store: 'in memory only',
    })
  })

  it('a worker that does not answer is not ready, and is named', async () => {
    const examined = examineHealth(sources({ ping: () => new Promise(() => undefined) }))
    clock.advance(5000)
    expect(await examined).toMatchObject({
      ready: false,
      workers: 'silent',
      reason: 'a#1 did not answer within 5 s.',
    })
  })
})
