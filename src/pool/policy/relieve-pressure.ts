import { formatBytes } from '../../base/bytes.ts'
import type { HostReading } from '../../host/memory.ts'
import { costs, evictable, isSoftlyPinned } from './evict.ts'
import { isReturning } from './books.ts'
import { beginUnload } from './leave.ts'
import type { Instance } from './state.ts'
import { changeModel, wake, type Step } from './step.ts'

const LOOK_EVERY = 10_000

/**
 * R20: a good neighbour. While idle copies could give memory back, the machine is looked at now and then; when other programs have left
 * less than the headroom, they go by the same rule as victims, as few as will do, before the machine swaps.
 */
export function relievePressure(step: Step): void {
  if (step.host !== undefined) return giveBack(step, step.host)
  const interval = step.state.limits.pressureInterval ?? LOOK_EVERY
  if (interval <= 0 || !step.state.instances.some(({ state, leases }) => state === 'ready' && leases === 0))
    return
  const nextAt = (step.state.host?.at ?? step.at) + interval
  if (step.at < nextAt) wake(step, nextAt)
  else step.wantsHost = true
}

function giveBack(step: Step, reading: HostReading): void {
  const { headroom } = step.state.limits
  const available = reading.ram?.available
  if (available === undefined || available >= headroom) return
  const leaving = step.state.instances.filter(isReturning)
  const enough = (victims: readonly Instance[]): boolean =>
    available + sum([...leaving, ...victims]) >= headroom
  const candidates = evictable(step, undefined).filter((instance) => ramOf(instance) > 0)
  const victims =
    step.rules.chooseVictims(candidates, isSoftlyPinned(step.state), enough, costs(step)) ?? candidates
  const why = `this machine has ${formatBytes(available)} of memory left and should have ${formatBytes(headroom)}`
  for (const victim of victims) {
    const evictions = (step.state.models.get(victim.model)?.evictions ?? 0) + 1
    changeModel(step, victim.model, { evictions })
    beginUnload(step, victim, 'evicted', `${why}; frees ${formatBytes(victim.total)}`)
  }
}

/** Private bytes it gives back at once; mapped weights are the system's to reclaim. */
function ramOf(instance: Instance): number {
  return instance.measured?.ram?.private ?? instance.promise.ram ?? 0
}

function sum(instances: readonly Instance[]): number {
  return instances.reduce((bytes, instance) => bytes + ramOf(instance), 0)
}
