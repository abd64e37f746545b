import { randomInt } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { ImageTask } from '../../tasks/image-task.ts'
import type { Part, Result } from '../../tasks/part.ts'
import { NO_USAGE } from '../../tasks/usage.ts'
import type { LoadPlan } from '../engine.ts'
import { ImageJob, type JobHost } from './image-job.ts'
import { imageRequest } from './image-request.ts'

/** What a run needs of the model it runs on. */
export interface SdServerHost extends JobHost {
  plan: LoadPlan
  clock: Clock
  /** A picture is complete. */
  moved: () => void
}

const SEEDS = 2 ** 32

/** One picture after the other, each a job of its own: so that an abort costs one at most, and each is there as soon as it is made. */
export async function* runImages(
  task: ImageTask,
  signal: AbortSignal,
  host: SdServerHost,
): AsyncGenerator<Part, Result, void> {
  const { plan, clock } = host
  const { size, body } = imageRequest(task, plan)
  const begun = clock.now()
  // The program's own default is always the same one.
  const first = task.seed ?? plan.spec.defaults.seed ?? randomInt(SEEDS)
  for (let index = 0; index < task.count; index++) {
    const seed = (first + index) % SEEDS
    const job = await ImageJob.submit({ ...body, seed }, host, signal)
    let isOver = false
    try {
      if (index === 0) yield { type: 'started', promptTokens: 0, cachedTokens: 0 }
      const data = await job.picture(size, signal)
      isOver = true
      host.moved()
      yield { type: 'image', index, mediaType: 'image/png', data, ...size, seed }
    } finally {
      if (!isOver) void job.cancel()
    }
  }
  return {
    finishReason: 'stop',
    usage: NO_USAGE,
    timings: { prefill: 0, decode: clock.now() - begun },
  }
}
