import type { PoolFact } from '../policy/messages.ts'

/** What a simulated machine knows of the world around it. */
export interface MachineSurroundings {
  now(): number
  after(delay: number, action: () => void): void
  /** 0…1 */
  random(): number
  report(fact: PoolFact): void
}
