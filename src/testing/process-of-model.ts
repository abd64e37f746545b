import assert from 'node:assert/strict'
import { sleep, type Clock } from '../base/clock.ts'
import type { LoadedModel } from '../engines/engine.ts'

/** Milliseconds in which whoever waits for a model that was killed must know. */
export const NEWS_LIMIT = 5000
/** Milliseconds in which a process that obeys nothing must be gone. */
const STOP_LIMIT = 20_000

/** Whether the process that a model says it is in is there. */
export function isThere({ pid }: LoadedModel): boolean {
  if (pid === undefined) return false
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export function send(model: LoadedModel, signal: 'SIGKILL' | 'SIGSTOP'): void {
  assert(model.pid !== undefined && model.pid > 0, 'the model must say which process holds it')
  process.kill(model.pid, signal)
}

/** BR-18: a process that stands still in the middle of a run obeys no signal but the last; unloading ends it all the same. */
export async function endStandingStill(
  model: LoadedModel,
  running: Promise<unknown>,
  clock: Clock,
): Promise<void> {
  running.catch(() => undefined)
  await sleep(clock, 50)
  send(model, 'SIGSTOP')
  const begun = clock.now()
  await model.unload()
  assert(clock.now() - begun < STOP_LIMIT)
  await assert.rejects(running)
  assert.equal((await model.exited).expected, true)
}
