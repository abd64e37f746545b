import type { MeasuredFootprint } from '../host/memory.ts'

/** What was measured for the same model and plan before; corrects estimates (R4). Must not throw: a store that fails forgets. */
export interface MeasurementStore {
  read(planKey: string): MeasuredFootprint | undefined
  /** Keeps the larger of what is there and what is given, per domain. */
  write(planKey: string, model: string, measured: MeasuredFootprint): void
}
