import type { SerializedError } from '../../base/errors.ts'
import { fitsOnTop } from './books.ts'
import { askingInstances, partsOf } from './together.ts'
import { isLarge, largeModels, overrun, privateCharge, takenDevice } from './budget.ts'
import { largestContext, protectedFrom } from './largest-context.ts'
import { deviceOwned, tooLarge, tooManyLarge } from './refusals.ts'
import type { Holder, Instance } from './state.ts'
import type { Demand, Step } from './step.ts'

const NOTHING: readonly Holder[] = []

/** R6, P14: what can never fit beside those who never go, together with what it uses, before anybody is evicted for it. */
export function impossible(step: Step, demand: Demand): SerializedError | undefined {
  const { models } = step.state
  const stay = stayingFor(step, demand)
  const parts = partsOf(step.state, [demand.model])
  const missing = parts.length === 0 ? parts : parts.filter((id) => !stay.some(({ model }) => model === id))
  const needs =
    missing.length === 0
      ? NOTHING
      : missing.map((id) => models.get(id)?.needs).filter((part) => part !== undefined)
  if (stay.length === 0 && needs.length === 0 && fitsOnTop(step, {}, stay, demand)) return undefined
  const over = tooMuch(step, demand, stay, needs) ?? tooMany(step, demand, stay, needs)
  return over ?? ownedDevice(step, demand, stay)
}

/** Those who never go; for what a run asks for, also all whose runs wait for what they asked for. */
function stayingFor(step: Step, demand: Demand): readonly Instance[] {
  const stay = protectedFrom(step, demand)
  if (demand.ticket?.within === undefined) return stay
  return [...new Set([...stay, ...askingInstances(step.state)])]
}

function tooMuch(
  step: Step,
  demand: Demand,
  stay: readonly Instance[],
  needs: readonly Holder[],
): SerializedError | undefined {
  const { limits, models } = step.state
  const over = overrun(step.rules.ledger([...stay, ...needs, demand]), limits, demand.force)
  const plan = models.get(demand.model)?.model.plan
  if (over === undefined || plan === undefined) return undefined
  const { domain, limit } = over
  const bytesOf = (holders: readonly Holder[]): number => step.rules.ledger(holders)[domain] ?? 0
  return tooLarge({
    model: demand.model,
    uses: needs.map(({ model }) => model),
    domain,
    need: bytesOf([demand, ...needs]),
    limit,
    pinned: stay
      .map((instance) => ({ instance: instance.id, bytes: bytesOf([instance]) }))
      .filter(({ bytes }) => bytes > 0),
    largestContext: needs.length === 0 ? largestContext(step, demand, plan) : null,
    contextSize: plan.contextSize,
  })
}

function tooMany(
  step: Step,
  demand: Demand,
  stay: readonly Holder[],
  needs: readonly Holder[],
): SerializedError | undefined {
  const { limits } = step.state
  if (![demand, ...needs].some((holder) => isLarge(holder, limits))) return undefined
  const large = largeModels([...stay, ...needs, demand], limits)
  if (large.length <= limits.maxLargeModels) return undefined
  return tooManyLarge(
    demand.model,
    limits.maxLargeModels,
    large.filter((id) => id !== demand.model),
  )
}

/** R14: the device belongs to one that never goes. */
function ownedDevice(step: Step, demand: Demand, stay: readonly Instance[]): SerializedError | undefined {
  const domain = takenDevice(step.state.limits, stay, demand)
  if (domain === undefined) return undefined
  const owners = stay.filter((instance) => privateCharge(instance, domain) > 0)
  return deviceOwned(
    demand.model,
    domain,
    owners.map(({ id }) => id),
  )
}
