import { describe, expect, it } from 'vitest'
import { ManualClock, type Timer } from './base/clock.ts'
import type { LoadedModel } from './engines/engine.ts'
import type { InstanceStatus, PoolStatus } from './pool/pool-status.ts'
import { declareAll, newPool } from './pool/fake-engine.ts'
import { sized } from './pool/simulation/scenario.ts'
import type { Health } from './server/server-options.ts'
import { examineHealth, yardHealth, type HealthSources } from './yard-health.ts'

const clock = new ManualClock()

/** Loses every timer. */
class DeafClock extends ManualClock {
  override setTimer(): Timer {
    return { cancel: () => undefined }
  }
}

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

  it('a real pool whose alarms never ring is stuck, and is well again when it is looked at', async () => {
    const deaf = new DeafClock(1000)
    const fixture = declareAll(newPool({ clock: deaf }), sized('m', 40, { keepAlive: 1000 }))
    const { pool } = fixture
    const lease = await pool.acquire({ model: 'm' })
    lease.release()
    const health = (): Health => yardHealth({ ...sources(), pool })
    deaf.advance(1000 + 9000)
    expect(health().ready).toBe(true)
    deaf.advance(2000)
    expect(health()).toMatchObject({ ready: false, scheduler: 'stuck' })
    pool.setLimits(pool.limits)
    expect(health()).toMatchObject({ ready: true, scheduler: 'ok' })
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
