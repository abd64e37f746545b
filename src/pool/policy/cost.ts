import { formatDuration } from '../../base/durations.ts'
import { leftAfter } from './ageing.ts'
import { mostBytes, prefillTime, readTime } from './context-worth.ts'
import type { Asked, Instance, ModelState } from './state.ts'
import type { Step } from './step.ts'

/** Milliseconds after which a request counts half (R7: recent demand, aged). */
const HALF_LIFE = 10 * 60_000

/** So many requests must there be before their number says more than when the last of them came. */
const PRIOR = 20

/** Milliseconds below which it makes no difference how long ago that was: people think between their turns. */
const FRESH = 60_000

/** Milliseconds after which every second conversation that has not gone on is over. With a minute the time for loads is up to 7 % above LRU's. */
const OVER = 20_000

/** Milliseconds below which loads are taken for equally short: there a busy moment makes more of a difference than the model. */
const NOTICEABLE = 4000

/** What is taken for reading a model's files where no load of it was measured yet: a base, and a bad disk's bytes per millisecond. */
const UNMEASURED = { base: 1000, bytesPerMs: 500_000 }

export const NEVER_ASKED: Asked = { count: 0, at: 0 }

/** Requests of late at this moment: each counts less the longer ago it came. */
export function askedLately({ count, at: counted }: Asked, at: number): number {
  return count === 0 ? 0 : count * leftAfter((at - counted) / HALF_LIFE)
}

export function askedOnceMore({ rules, at }: Pick<Step, 'rules' | 'at'>, asked: Asked): Asked {
  return { count: rules.askedLately(asked, at) + 1, at }
}

/** Milliseconds a load of this plan takes: as measured, or as its size suggests. */
export function reloadTime({ plan }: Instance, model: ModelState | undefined): number {
  if (model?.loadTime !== undefined && model.model.plan.key === plan.key) return model.loadTime
  return UNMEASURED.base + plan.loadBytes / UNMEASURED.bytesPerMs
}

/**
 * Milliseconds that the contexts of its slots would cost when their conversations go on after it went: reading those that are worth being
 * parked, computing the others again. The longer a conversation has not gone on, the less it counts: most end some time.
 */
export function lostContextTime(step: Step, instance: Instance, model: ModelState | undefined): number {
  if (model?.contexts.prefillPerToken === undefined) return 0
  let sum = 0
  for (const { tokens, usedAt } of instance.slots) {
    if (tokens > 0)
      sum += contextTime(step, instance, model, tokens) * leftAfter(Math.max(0, step.at - usedAt) / OVER)
  }
  return sum
}

function contextTime({ state, rules }: Step, instance: Instance, model: ModelState, tokens: number): number {
  const again = prefillTime(model, tokens)
  if (!rules.isWorthParking(state, model, instance, { lost: tokens, held: tokens })) return again
  return Math.min(again, readTime(model, mostBytes(model, instance.plan, tokens)))
}

/**
 * R7: what losing this instance is expected to cost: the time to have it and its contexts back, times how soon it will be asked for again, as far as the
 * past can tell: by how often that was of late, and by how long ago it was the last time. Of those that cost the same to have back and
 * were asked for as often it is the least recently used.
 */
export function costOf(step: Step, instance: Instance): number {
  const model = step.state.models.get(instance.model)
  const asked = step.rules.askedLately(instance.asked, step.at)
  const idle = Math.max(0, step.at - instance.usedAt)
  const back = reloadTime(instance, model) + lostContextTime(step, instance, model)
  return (Math.max(NOTICEABLE, back) * (PRIOR + asked)) / (idle + FRESH)
}

/** R19: why this one goes rather than another. */
export function costSentence(step: Step, instance: Instance): string {
  const model = step.state.models.get(instance.model)
  const lately = Math.round(step.rules.askedLately(instance.asked, step.at))
  const times = lately === 1 ? 'once' : `${lately} times`
  const reload = formatDuration(reloadTime(instance, model))
  const lost = lostContextTime(step, instance, model)
  const contexts = lost < 1 ? '' : ` and ${formatDuration(lost)} for its contexts`
  return `the cheapest to lose that is enough: ${reload} to have it back${contexts}, asked for ${times} of late`
}
