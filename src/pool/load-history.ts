/**
 * What earlier servers learned of how long loads take and how often models are asked for, so that the first evictions of this one are as
 * good as its last (R7). Must not throw: a store that fails forgets.
 */
export interface LoadHistory {
  /** Milliseconds from a load's start until it was ready, of this plan. */
  loadTime(planKey: string): number | undefined
  noteLoadTime(planKey: string, model: string, milliseconds: number): void
  /** Requests of late, as they were counted so many milliseconds ago. */
  demand(model: string): { count: number; age: number } | undefined
  /** The count as it is now. */
  noteDemand(model: string, count: number): void
}
