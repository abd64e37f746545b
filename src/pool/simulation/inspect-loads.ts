import type { MemoryDomain } from '../../host/memory.ts'
import type { CommandOf } from '../policy/messages.ts'
import type { PoolState } from '../policy/state.ts'
import type { Copy } from './copy.ts'
import { booked, charge, isLarge, presentWith } from './true-books.ts'
import { breach } from './violation.ts'
import type { Look, World } from './world.ts'

/** R4, R5, R8, R10, R11: every load that starts has room, by promise or measurement of all that is really there. */
export function inspectLoad(look: Look, { instance, plan }: CommandOf<'start-load'>, failedAt: number): void {
  const { decision, event, world } = look
  const { state } = decision
  const started = state.instances.find(({ id }) => id === instance)
  withinLimits(world, state, instance, started?.forced ?? false)
  if (event.type !== 'host-measured') breach('R5', `${instance} is loaded without a look at the host`)
  hostCovers(world, state, instance)
  const copies = presentWith(world, instance).filter((copy) => copy.plan.key === plan.key)
  const most = Math.max(1, state.models.get(plan.model)?.model.maxInstances ?? 1)
  if (copies.filter(isCounted(state)).length > most) breach('R10', `${copies.length} copies of ${plan.key}`)
  if (event.at < failedAt + state.limits.backoff.first)
    breach('R11', `${instance} is loaded without a backoff`)
}

/** Unloads that hang are made good for by another copy (R8). */
function isCounted(state: PoolState): (copy: Copy) => boolean {
  return (copy) => state.instances.find(({ id }) => id === copy.id)?.leaving?.isStuck !== true
}

function withinLimits(world: World, state: PoolState, newcomer: string, forced: boolean): void {
  const present = presentWith(world, newcomer)
  const sums = booked(present, state)
  for (const domain of Object.keys(sums) as MemoryDomain[]) {
    const limit = state.limits.memory[domain]
    const most = forced ? (limit?.absolute ?? 0) : (limit?.budget ?? 0)
    if ((sums[domain] ?? 0) > most) breach('R4', `${domain} holds ${sums[domain]} of ${most}`)
  }
  const large = new Set(present.filter((copy) => isLarge(copy, state)).map((copy) => copy.plan.model))
  const own = world.copies.get(newcomer)
  if (own === undefined || !isLarge(own, state)) return
  if (large.size > state.limits.maxLargeModels) breach('M6', `${large.size} large models`)
}

/** R5: what is free now, less what loads in progress will still take, covers the newcomer and the headroom. */
function hostCovers(world: World, state: PoolState, newcomer: string): void {
  for (const domain of Object.keys(state.limits.memory) as MemoryDomain[]) {
    let needed = 0
    for (const copy of presentWith(world, newcomer)) {
      if (copy.loadedAt === undefined && copy.stage === 'loading' && !copy.isCancelled) {
        needed += charge(copy, state, domain)
      }
    }
    const own = world.copies.get(newcomer)
    if (own === undefined || charge(own, state, domain) === 0) continue
    const headroom = domain === 'ram' ? state.limits.headroom : 0
    if (world.machine.available(domain) < needed + headroom)
      breach('R5', `${newcomer} is loaded into too little free ${domain}`)
  }
}

/** R10, F8, F17: what is being loaded is waited for. */
export function inspectDemand(state: PoolState): void {
  for (const load of state.instances) {
    if (load.state !== 'loading' && load.state !== 'warming') continue
    const model = state.models.get(load.model)
    const isAsked =
      state.queues.some((queue) => queue.model === load.model) ||
      (model?.model.minInstances ?? 0) > 0 ||
      state.instances.some((other) => other.model === load.model && other.leases > 0)
    if (!isAsked) breach('R10', `${load.id} is loaded and nobody waits`)
  }
}
