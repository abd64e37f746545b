import type { PoolLimits } from '../pool/limits.ts'

/** What follows from budgets of 0 bytes: legal, and never to be taken for a slip without a word. Undefined where there are none. */
export function emptyBudgetWarning({ memory }: Pick<PoolLimits, 'memory'>): string | undefined {
  const empty = Object.entries(memory).flatMap(([domain, limit]) => (limit?.budget === 0 ? [domain] : []))
  if (empty.length === 0) return undefined
  const domains = empty.join(' and ')
  return `The budget of ${domains} is 0 bytes: no model is loaded there until memory.budget is raised, and what is loaded goes when it is idle.`
}
