import type { MemoryDomain } from '../../host/memory.ts'
import { footprintTotal, type MeasuredFootprint } from '../../host/memory.ts'
import type { LoadPlan } from '../../engines/engine.ts'
import type { Fingerprint } from '../../tasks/fingerprint.ts'
import type { SimulatedModel } from './simulated-model.ts'
import type { Visitor } from './visitor.ts'

/** What a slot really holds; undefined = nobody can say. */
export interface PhysicalSlot {
  content: Fingerprint | undefined
  visitor: Visitor | undefined
}

/** A loaded copy as it really is, whatever the policy believes. */
export interface Copy {
  readonly id: string
  readonly plan: LoadPlan
  readonly model: SimulatedModel
  stage: 'loading' | 'loaded' | 'warming' | 'ready' | 'leaving'
  readonly slots: PhysicalSlot[]
  /** Private bytes it really takes once loaded, as a part of what the plan promises. */
  reality: number
  isCancelled: boolean
  isGone: boolean
  readyAt: number | undefined
  lastUsedAt: number
  loadedAt: number | undefined
  /** What the policy was last told it holds. */
  reported: MeasuredFootprint | undefined
}

export function newCopy(id: string, plan: LoadPlan, model: SimulatedModel, at: number): Copy {
  return {
    id,
    plan,
    model,
    stage: 'loading',
    slots: Array.from({ length: plan.slots }, () => ({ content: [], visitor: undefined })),
    reality: model.reality ?? 1,
    isCancelled: false,
    isGone: false,
    readyAt: undefined,
    lastUsedAt: at,
    loadedAt: undefined,
    reported: undefined,
  }
}

/** Bytes of a plan in a domain that others map as well: of its weights and of the program. */
export function sharedOf({ sharedWeights, programBytes = 0 }: LoadPlan, domain: MemoryDomain): number {
  return (sharedWeights?.domain === domain ? sharedWeights.bytes : 0) + (domain === 'ram' ? programBytes : 0)
}

/** Bytes it really holds by itself in a domain; none while its files are still being read. */
export function realPrivate(copy: Copy, domain: MemoryDomain): number {
  const terms = copy.plan.footprint[domain]
  if (terms === undefined || copy.loadedAt === undefined) return 0
  return Math.round((footprintTotal(terms) - sharedOf(copy.plan, domain)) * copy.reality)
}

/** Reads what it holds now. */
export function measure(copy: Copy): MeasuredFootprint {
  const measured: MeasuredFootprint = {}
  for (const domain of Object.keys(copy.plan.footprint) as MemoryDomain[]) {
    measured[domain] = { private: realPrivate(copy, domain), shared: sharedOf(copy.plan, domain) }
  }
  copy.reported = measured
  return measured
}
