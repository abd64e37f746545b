import type { LoadPlan } from '../../engines/engine.ts'
import type { MemoryDomain } from '../../host/memory.ts'
import { domainsOf, limitOf } from './budget.ts'
import { booksOf } from './books.ts'
import type { Instance } from './state.ts'
import type { Demand, Step } from './step.ts'

const GRANULE = 256

/** Instances that never go for this demand. */
export function protectedFrom(step: Step, demand: Demand): readonly Instance[] {
  const { protected: stay } = booksOf(step)
  return stay.length === 0 ? stay : stay.filter(({ model }) => model !== demand.model)
}

/**
 * R6: the largest context per slot with which the plan would fit beside those who never go, rounded down to 256 tokens; null when even
 * none would. Computed from the plan's context term, which grows evenly with the context.
 */
export function largestContext(step: Step, demand: Demand, plan: LoadPlan): number | null {
  const stay = protectedFrom(step, demand)
  const held = step.rules.ledger(stay)
  const together = step.rules.ledger([...stay, demand])
  const most = Math.min(
    ...domainsOf(plan.footprint).map((domain) => {
      const room = limitOf(step.state.limits, domain, demand.force) - (held[domain] ?? 0)
      // What it shares with those who stay is there already.
      const need = (together[domain] ?? 0) - (held[domain] ?? 0)
      return contextWithin(plan, domain, room, need)
    }),
  )
  const rounded = Math.floor(most / GRANULE) * GRANULE
  return rounded >= GRANULE ? Math.min(rounded, trainedFor(plan)) : null
}

/** More than the model was trained for is of no use, whatever would fit. */
function trainedFor({ contextSize, facts }: LoadPlan): number {
  return Math.max(contextSize, facts.gguf?.contextLength ?? 0)
}

function contextWithin(plan: LoadPlan, domain: MemoryDomain, room: number, need: number): number {
  const terms = plan.footprint[domain]
  if (terms === undefined) return Number.MAX_SAFE_INTEGER
  if (terms.context === 0) return room >= need ? Number.MAX_SAFE_INTEGER : 0
  const rest = Math.max(0, need - terms.context)
  return Math.floor(((room - rest) / terms.context) * plan.contextSize)
}
