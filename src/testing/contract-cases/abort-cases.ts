import assert from 'node:assert/strict'
import { ModelyardError } from '../../base/errors.ts'
import type { LoadedModel } from '../../engines/engine.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Task } from '../../tasks/task.ts'
import { CONTEXT, readAll, rejection, SLOTS, type ContractBench } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'
import { assertInTime } from '../soonest.ts'

const reason = (): ModelyardError => new ModelyardError('aborted', 'The client is gone.')

/** Aborts a run that was begun with this signal. @returns milliseconds until it ended */
async function timeToAbort(
  bench: ContractBench,
  controller: AbortController,
  running: Promise<unknown>,
): Promise<number> {
  const why = reason()
  const start = bench.clock.now()
  controller.abort(why)
  assert.equal(await rejection(running), why, 'it must end with the signal’s own reason')
  return bench.clock.now() - start
}

async function assertAbortsIn(
  bench: ContractBench,
  model: LoadedModel,
  task: Task,
  after: number,
): Promise<void> {
  await assertInTime(async () => {
    const controller = new AbortController()
    const running = readAll(bench.start(model, task, { signal: controller.signal }))
    running.catch(() => undefined)
    await bench.pause(after)
    const took = await timeToAbort(bench, controller, running)
    await bench.assertUsable(model)
    return took
  })
}

/** The longest of the subject's prompts that leaves room for an answer. */
async function longestChat(bench: ContractBench, model: LoadedModel): Promise<ChatTask> {
  for (let tokens = CONTEXT; ; tokens = Math.floor(tokens * 0.8)) {
    const { messages } = bench.subject.longPrompt(tokens)
    const task = { ...bench.subject.endless, messages }
    if ((await tokensOf(model, task)) < CONTEXT - 100) return task
  }
}

/** An engine that cannot count ahead has somebody else judge the length. */
async function tokensOf(model: LoadedModel, task: ChatTask): Promise<number> {
  try {
    return await model.countTokens(task)
  } catch (error) {
    if (error instanceof ModelyardError && error.code === 'unsupported') return 0
    throw error
  }
}

export const abortCases: readonly ContractCheck[] = [
  {
    name: 'ends within 250 ms of an abort while it generates, and the slot is usable at once',
    async check(bench) {
      const model = await bench.shared()
      await assertInTime(async () => {
        const controller = new AbortController()
        const stream = bench.start(model, bench.subject.endless, { signal: controller.signal })
        // The answer streams: parts come long before its end.
        for (let part = 0; part < 3; part++) assert.notEqual((await stream.next()).done, true)
        const took = await timeToAbort(bench, controller, readAll(stream))
        await bench.assertUsable(model)
        return took
      })
    },
  },
  {
    name: 'ends within 250 ms of an abort while the prompt is evaluated, and the slot is usable at once',
    async check(bench) {
      const model = await bench.shared()
      const task = await longestChat(bench, model)
      for (const after of [0, 15]) await assertAbortsIn(bench, model, task, after)
    },
  },
  {
    name: 'ends a run whose signal had fired before with its reason',
    async check(bench) {
      const model = await bench.shared()
      const why = reason()
      const stream = bench.start(model, bench.chat(0).task, { signal: AbortSignal.abort(why) })
      assert.equal(await rejection(stream.next()), why)
      await bench.assertUsable(model)
    },
  },
  {
    name: 'harms no other slot by an abort',
    async check(bench) {
      const model = await bench.shared()
      const { task, answer } = bench.chat(1)
      const controller = new AbortController()
      const aborted = readAll(
        bench.start(model, bench.subject.endless, { slot: 0, signal: controller.signal }),
      )
      aborted.catch(() => undefined)
      const other = bench.run(model, task, { slot: 1 })
      await bench.pause(5)
      await timeToAbort(bench, controller, aborted)
      assert.equal((await other).text, answer)
    },
  },
  {
    name: 'is cancelled by breaking out of the stream, and the slot is usable at once',
    async check(bench) {
      const model = await bench.shared()
      for (const parts of [1, 3]) {
        const stream = bench.start(model, bench.subject.endless)
        let seen = 0
        for await (const part of stream) {
          assert(part !== undefined)
          if (++seen === parts) break
        }
        await bench.assertUsable(model)
      }
    },
  },
  {
    name: 'takes nothing for a stream that nobody ever reads',
    async check(bench) {
      const model = await bench.shared()
      const stream = bench.start(model, bench.subject.endless)
      await stream.return(undefined as never)
      await bench.assertUsable(model)
    },
  },
  {
    name: 'ends within 250 ms of an abort of any run while all slots are busy',
    async check(bench) {
      const model = await bench.shared()
      await assertInTime(async () => {
        const runs = Array.from({ length: SLOTS }, (_, slot) => {
          const controller = new AbortController()
          const task = bench.subject.endless
          const running = readAll(bench.start(model, task, { slot, signal: controller.signal }))
          running.catch(() => undefined)
          return { controller, running }
        })
        await bench.pause(60)
        let slowest = 0
        for (const { controller, running } of runs)
          slowest = Math.max(slowest, await timeToAbort(bench, controller, running))
        for (let slot = 0; slot < SLOTS; slot++) await bench.assertUsable(model, slot)
        return slowest
      })
    },
  },
  {
    name: 'may be aborted at any moment, again and again, and the slot stays whole',
    async check(bench) {
      const model = await bench.shared()
      for (const after of [0, 1, 2, 3, 5, 8, 13, 21, 34, 55])
        await assertAbortsIn(bench, model, bench.subject.endless, after)
    },
  },
]
