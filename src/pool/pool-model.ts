import type { LoadPlan } from '../engines/engine.ts'

/** What the pool must know of a model to place it. Declared again when configuration or files change. */
export interface PoolModel {
  id: string
  plan: LoadPlan
  minInstances: number
  maxInstances: number
  /** Milliseconds idle until unload; 0 = at release, −1 = never. */
  keepAlive: number
  pinned: boolean | 'soft'
  /** False: its contexts are never written to disk. Default true. */
  parking?: boolean
  /** Most bytes its contexts may take on disk; absent = as many as all models together. */
  contextBudget?: number
  /** Ids of the models that a run of this one may itself ask for; without cycles. Memory and places are planned together (P14). */
  uses?: readonly string[]
}
