import { formatBytes } from '../../base/bytes.ts'
import type { Instance, ModelState, Slot } from './state.ts'
import { announce, changeModel, command, type Demand, type Step } from './step.ts'

const GIB = 1024 ** 3

/** M10: milliseconds a load may go on without a sign of progress. */
export function loadPatience(step: Step, loadBytes: number): number {
  const { base, perGiB } = step.state.limits.loadDeadline
  return base + (perGiB * loadBytes) / GIB
}

/** Begins a load: its bytes are charged from this moment on (R4). */
export function startLoad(step: Step, model: ModelState, demand: Demand, reason: string): void {
  const { plan, id } = model.model
  const number = step.state.loads + 1
  const instance = newInstance(step, model, demand, number)
  step.state.loads = number
  step.state.instances = [...step.state.instances, instance]
  changeModel(step, id, { loads: model.loads + 1, shortSince: undefined })
  command(step, { type: 'start-load', instance: instance.id, plan })
  const bytes = demand.total
  const words = `${reason}; ${formatBytes(bytes)} for ${plan.slots} × ${plan.contextSize} tokens`
  announce(step, 'load-started', { model: id, instance: instance.id, bytes, reason: words })
}

function newInstance(step: Step, model: ModelState, demand: Demand, number: number): Instance {
  const { id, plan, keepAlive } = model.model
  const slot: Slot = { chain: [], tokens: 0, usedAt: step.at, lease: undefined }
  return {
    id: `${id}#${number}`,
    number,
    model: id,
    plan,
    stateIdentity: undefined,
    savesWhileAnswering: false,
    promise: model.promise,
    charges: demand.charges,
    total: demand.total,
    shared: demand.shared,
    measured: undefined,
    state: 'loading',
    slots: Array.from({ length: plan.slots }, () => slot),
    leases: 0,
    startedAt: step.at,
    readyAt: undefined,
    usedAt: step.at,
    asked: model.asked,
    served: false,
    keepAlive: demand.ticket?.keepAlive ?? keepAlive,
    forced: demand.force,
    coming: { progress: undefined, loadedAt: undefined, isWarmingUp: false },
    deadline: step.at + loadPatience(step, plan.loadBytes),
    leaving: undefined,
    meanHeld: 0,
  }
}
