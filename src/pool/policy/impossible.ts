import type { SerializedError } from '../../base/errors.ts'
import { fitsOnTop } from './books.ts'
import { isLarge, largeModels, overrun } from './budget.ts'
import { largestContext, protectedFrom } from './largest-context.ts'
import { tooLarge, tooManyLarge } from './refusals.ts'
import type { Demand, Step } from './step.ts'

/** R6: what can never fit beside those who never go, before anybody is evicted for it. */
export function impossible(step: Step, demand: Demand): SerializedError | undefined {
  const stay = protectedFrom(step, demand)
  const { limits } = step.state
  if (stay.length === 0 && fitsOnTop(step, {}, stay, demand)) return undefined
  const over = overrun(step.rules.ledger([...stay, demand]), limits, demand.force)
  const model = step.state.models.get(demand.model)
  if (over !== undefined && model !== undefined) {
    const { domain, limit } = over
    const { plan } = model.model
    const pinned = stay
      .map((instance) => ({ instance: instance.id, bytes: step.rules.ledger([instance])[domain] ?? 0 }))
      .filter(({ bytes }) => bytes > 0)
    return tooLarge({
      model: demand.model,
      domain,
      need: step.rules.ledger([demand])[domain] ?? 0,
      limit,
      pinned,
      largestContext: largestContext(step, demand, plan),
      contextSize: plan.contextSize,
    })
  }
  const large = largeModels(stay, limits)
  if (!isLarge(demand, limits) || large.length < limits.maxLargeModels) return undefined
  return tooManyLarge(demand.model, limits.maxLargeModels, large)
}
