import { sleep, type Clock } from './base/clock.ts'
import { formatDuration } from './base/durations.ts'
import type { LoadedModel } from './engines/engine.ts'
import type { PoolStatus } from './pool/pool-status.ts'
import type { Health } from './server/server-options.ts'
import { storeState } from './yard-state.ts'

/** What health is judged by. */
export interface HealthSources {
  pool: {
    readonly schedulerDelay: number
    status(): PoolStatus
    loadedOf(instance: string): LoadedModel | undefined
  }
  store: { readonly durable: boolean; readonly writable: boolean }
  clock: Clock
}

/** Milliseconds by which the scheduler may be late: far more than a busy machine, far less than people wait. */
const LATE = 10_000
/** Milliseconds a worker may take to say that it is there. */
const SILENT = 5000

/** Whether requests are taken and answered now, as far as that shows without asking anybody; `reason` says what is wrong. */
export function yardHealth({ pool, store }: HealthSources): Health {
  const late = pool.schedulerDelay
  const history = storeState(store)
  const facts = { scheduler: late > LATE ? 'stuck' : 'ok', store: history }
  if (late > LATE) {
    return {
      ready: false,
      ...facts,
      reason: `The scheduler should have looked at its queue ${formatDuration(late)} ago.`,
    }
  }
  // A home that never could be written is known and said; one that cannot be written any more needs somebody.
  if (history === 'not writable')
    return { ready: false, ...facts, reason: 'The database takes nothing; history waits in memory.' }
  return { ready: true, ...facts }
}

/** The same, and whether every worker that is ready answers (H4: ready is more than alive). */
export async function examineHealth(sources: HealthSources): Promise<Health> {
  const health = yardHealth(sources)
  const silent = await silentInstances(sources)
  if (silent.length === 0) return { ...health, workers: 'ok' }
  const reason = `${silent.join(', ')} did not answer within ${formatDuration(SILENT)}.`
  return {
    ...health,
    workers: 'silent',
    ready: false,
    reason: [health['reason'], reason].filter(Boolean).join(' '),
  }
}

async function silentInstances({ pool, clock }: HealthSources): Promise<string[]> {
  const ready = pool.status().instances.filter(({ state }) => state === 'ready')
  const answers = await Promise.all(
    ready.map(async ({ id }) => ((await isAnswering(pool.loadedOf(id), clock)) ? undefined : id)),
  )
  return answers.filter((id) => id !== undefined)
}

async function isAnswering(loaded: LoadedModel | undefined, clock: Clock): Promise<boolean> {
  if (loaded === undefined) return true
  const controller = new AbortController()
  const answered = loaded.ping(controller.signal).then(
    () => true,
    () => false,
  )
  const late = sleep(clock, SILENT, controller.signal).then(
    () => false,
    () => false,
  )
  const result = await Promise.race([answered, late])
  controller.abort()
  return result
}
