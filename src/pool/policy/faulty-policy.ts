import { decide, type Decision } from './decide.ts'
import type { PoolEvent } from './messages.ts'
import { RULES } from './rules.ts'
import type { PoolState } from './state.ts'
import type { Rules } from './step.ts'

/** The policy, or something like it. */
export type Decide = (state: PoolState, event: PoolEvent) => Decision

/** The policy with one rule wrong. */
export function withRules(wrong: Partial<Rules>): Decide {
  const rules = { ...RULES, ...wrong }
  return (state, event) => decide(state, event, rules)
}

/** The policy that takes one kind of event wrongly. */
export function withHandlers(wrong: Partial<Rules['handlers']>): Decide {
  return withRules({ handlers: { ...RULES.handlers, ...wrong } })
}
