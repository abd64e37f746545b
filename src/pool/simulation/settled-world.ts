import { Violation } from './violation.ts'
import type { Visitor } from './visitor.ts'
import type { Look, World } from './world.ts'

/** Somebody who has not been answered yet. */
export function openVisitor(world: World): Visitor | undefined {
  return [...world.visitors.values()].find(({ outcome }) => outcome === 'waiting' || outcome === 'granted')
}

/** R13, R8, R16: what should have gone, or been written, by the time that everybody was served. */
export function leftoverOf(world: World): Violation | undefined {
  const { contexts, instances, models } = world.state
  const unfinished = contexts.parked.find(({ writer }) => writer !== undefined)
  if (unfinished !== undefined) return new Violation('R16', `${unfinished.id} is being written for ever`)
  for (const instance of instances) {
    const model = models.get(instance.model)?.model
    const stays =
      model === undefined || model.pinned !== false || model.minInstances > 0 || instance.keepAlive < 0
    if (instance.state === 'unloading' || instance.state === 'draining')
      return new Violation('R8', `${instance.id} is ${instance.state} for ever`)
    if (!stays) return new Violation('R13', `${instance.id} is idle for ever`)
  }
  return undefined
}

/** False for an attempt in vain: the host was looked at, and another look set for later. */
export function changesSomething({ before, decision: { state, commands } }: Look): boolean {
  if (commands.some(({ type }) => type !== 'set-alarm' && type !== 'measure-host')) return true
  const { instances, queues, contexts } = before
  return state.instances !== instances || state.queues !== queues || state.contexts !== contexts
}
