import { evict } from './leave.ts'
import { hostShort } from './refusals.ts'
import { demandFor, findRoom, type Room } from './room.ts'
import { startLoad } from './start-load.ts'
import type { ModelState } from './state.ts'
import { changeModel, wake, type Step, type Turn } from './step.ts'

/** R13: the same way for copies that `minInstances` asks for. Nobody waits, so nobody is held up; what does not work is tried again later. */
export function seekMinimum(step: Step, turn: Turn, model: ModelState): void {
  const demand = demandFor(model, undefined)
  const never = step.rules.impossible(step, demand)
  const room: Room | undefined = never === undefined ? findRoom(step, turn, demand, true) : undefined
  if (room === undefined || room.kind === 'host-short') {
    const { memoryGrace, backoff } = step.state.limits
    const restoreAt = step.at + Math.max(memoryGrace, backoff.first)
    const short =
      room?.kind === 'host-short' ? hostShort(demand.model, room.shortage, 0, restoreAt - step.at) : undefined
    changeModel(step, demand.model, { restoreAt, lastError: never ?? short })
    wake(step, restoreAt)
    return
  }
  if (room.kind === 'free')
    startLoad(step, model, demand, `${model.model.minInstances} copies are to be kept (minInstances)`)
  if (room.kind === 'unmeasured') step.wantsHost = true
  if (room.kind === 'evict') for (const victim of room.victims) evict(step, victim, demand)
  if (room.kind === 'leaving' || room.kind === 'evict') turn.reserved.push(demand)
}
