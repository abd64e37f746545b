import { decide, type Decision } from '../policy/decide.ts'
import type { PoolEvent } from '../policy/messages.ts'
import { RULES } from '../policy/rules.ts'
import type { PoolState } from '../policy/state.ts'
import type { Rules } from '../policy/step.ts'

export type ComparisonPolicy =
  | 'lru'
  | 'lru-without-patience'
  | 'arrival-order'
  | 'without-affinity'
  | 'without-parking'

/** Victims by order of use alone, as most servers choose them. */
const leastRecentlyUsed: Partial<Rules> = { costOf: (_step, instance) => instance.usedAt }

/** Nobody passes anybody, and no instance has a turn of its own. */
const withoutPatience: Partial<Rules> = {
  isOwed: () => true,
  turnEndsAt: RULES.safeUntil,
  safeUntil: ({ readyAt = Number.POSITIVE_INFINITY }, { minimumResidency }) => readyAt + minimumResidency,
}

const withoutParking: Partial<Rules> = {
  isWorthParking: () => false,
  fitsInstance: () => false,
  awaitedBeginning: () => undefined,
}

const leastRecentlyUsedSlot: Rules['chooseSlot'] = (open) => {
  const free = open.flatMap((instance) =>
    instance.slots.flatMap(({ lease, usedAt, chain }, index) =>
      lease === undefined ? [{ instance, index, usedAt, isEmpty: chain.length === 0 }] : [],
    ),
  )
  const [first] = free.sort((a, b) => a.usedAt - b.usedAt)
  if (first === undefined) return undefined
  const { instance, index, isEmpty } = first
  return { instance, index, fit: isEmpty ? 'empty' : 'divergent' }
}

/** What the policy is compared with: the same machinery with other rules in places. For simulations only. */
const COMPARISON_POLICIES: Readonly<Record<ComparisonPolicy, Partial<Rules>>> = {
  /** Victims by order of use; all else as it is. */
  lru: leastRecentlyUsed,
  /** The same, and whoever needs a swap gets it as soon as the victim is idle. */
  'lru-without-patience': { ...leastRecentlyUsed, ...withoutPatience },
  /** Any free slot will do, the one that was used longest ago first, and nothing is parked: as most servers do it. */
  'without-affinity': { ...withoutParking, chooseSlot: leastRecentlyUsedSlot },
  /** Conversations find their slots, and what a slot loses is lost. */
  'without-parking': withoutParking,
  /** Each in its turn: the next swap is the oldest ticket's, and whoever came later waits for it, whatever is in memory. */
  'arrival-order': {
    ...leastRecentlyUsed,
    ...withoutPatience,
    isEntitled: () => false,
    turnEndsAt: ({ readyAt = Number.POSITIVE_INFINITY }) => readyAt,
    safeUntil: ({ readyAt = Number.POSITIVE_INFINITY }) => readyAt,
  },
}

export function comparisonPolicy(name: ComparisonPolicy): (state: PoolState, event: PoolEvent) => Decision {
  const rules = { ...RULES, ...COMPARISON_POLICIES[name] }
  return (state, event) => decide(state, event, rules)
}
