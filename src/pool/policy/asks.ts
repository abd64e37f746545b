import type { PoolState } from './state.ts'

/** P14: how many things the runs of each instance have asked for and not done with; waiting tickets and leases held. */
export function asksByInstance(state: PoolState): ReadonlyMap<string, number> {
  const asks = new Map<string, number>()
  const count = (id: string | undefined): void => {
    if (id !== undefined) asks.set(id, (asks.get(id) ?? 0) + 1)
  }
  for (const { tickets } of state.queues) for (const { within } of tickets) count(within)
  for (const { slots } of state.instances) for (const { lease } of slots) count(lease?.within)
  return asks
}
