import assert from 'node:assert/strict'
import { sleep } from '../../base/clock.ts'
import type { LoadedModel } from '../../engines/engine.ts'
import { failure, loadOneOfTwo, readAll } from '../contract-bench.ts'
import { endStandingStill, isThere, NEWS_LIMIT, send } from '../process-of-model.ts'
import type { WorkBench, WorkCheck } from '../work-bench.ts'

/** A model of its own that may be ended in any way; nothing of it is left. */
async function withVictim(bench: WorkBench, use: (model: LoadedModel) => Promise<void>): Promise<void> {
  await bench.withOwnModel(async (model) => {
    await use(model)
    await model.unload()
    assert(!isThere(model), 'its process is still there')
  })
  await bench.nothingLeft()
}

/** How engines end that have a process for each model. */
export const workExitCases: Readonly<Record<string, WorkCheck>> = {
  'tells everybody when its process is killed while it works': async (bench) => {
    for (const after of [0, 100]) {
      await withVictim(bench, async (model) => {
        const running = readAll(bench.start(model, bench.subject.long))
        running.catch(() => undefined)
        await sleep(bench.clock, after)
        const begun = bench.clock.now()
        send(model, 'SIGKILL')
        await failure(running, 'worker_exited')
        assert(bench.clock.now() - begun < NEWS_LIMIT)
        assert.equal((await model.exited).expected, false)
        await failure(model.ping(), 'worker_exited')
        await failure(model.memory(), 'worker_exited')
      })
    }
  },
  'tells that its process was killed while it was idle, and the next load works': async (bench) => {
    await withVictim(bench, async (model) => {
      send(model, 'SIGKILL')
      assert.equal((await model.exited).expected, false)
      await failure(bench.start(model, bench.subject.task).next(), 'worker_exited')
    })
    await bench.withOwnModel(async (next) => bench.assertUsable(next))
  },
  'answers everybody when its process is killed while it is unloaded': async (bench) => {
    await withVictim(bench, async (model) => {
      const running = readAll(bench.start(model, bench.subject.long))
      running.catch(() => undefined)
      await sleep(bench.clock, 50)
      const unloaded = model.unload()
      if (isThere(model)) send(model, 'SIGKILL')
      await unloaded
      await assert.rejects(running, /unloaded|worker/i)
      assert.equal((await model.exited).expected, true)
    })
  },
  'ends a process that stands still and obeys no signal but the last, when it is unloaded (BR-18)': async (
    bench,
  ) => {
    await withVictim(bench, async (model) => {
      await endStandingStill(model, readAll(bench.start(model, bench.subject.long)), bench.clock)
    })
  },
}

/** What they do that all engines do, wherever their models are. */
export const workLifeCases: Readonly<Record<string, WorkCheck>> = {
  'says which process holds a model, where one does': async (bench) => {
    const model = await bench.shared()
    const { ownProcess = false } = bench.subject
    assert.equal(model.pid !== undefined, ownProcess, `it says ${model.pid ?? 'none'}`)
    assert.equal(isThere(model), ownProcess)
  },
  'gives up one of two loads at once, the other is whole, and its end is nothing to a third model': async (
    bench,
  ) => {
    const model = await loadOneOfTwo((signal) => bench.load(undefined, signal))
    await bench.assertUsable(model)
    await model.unload()
    await bench.assertUsable(await bench.shared())
  },
  'may be aborted at any moment, again and again, and works on': async (bench) => {
    const model = await bench.shared()
    for (const after of [0, 1, 5, 20, 50]) {
      const controller = new AbortController()
      const running = readAll(bench.start(model, bench.subject.long, controller.signal))
      running.catch(() => undefined)
      await sleep(bench.clock, after)
      controller.abort()
      await assert.rejects(running)
    }
    await bench.assertUsable(model)
  },
  'is aborted while it waits for the one before it, and harms neither': async (bench) => {
    const model = await bench.shared()
    const first = bench.assertUsable(model)
    const controller = new AbortController()
    const second = readAll(bench.start(model, bench.subject.task, controller.signal))
    second.catch(() => undefined)
    controller.abort()
    await assert.rejects(second)
    await first
    await bench.assertUsable(model)
  },
  'refuses a kind of task that its plan does not name, before the first part': async (bench) => {
    const model = await bench.shared()
    const task = { kind: 'rerank' as const, query: 'hi', documents: ['ho'] }
    await failure(bench.start(model, task).next(), 'unsupported')
    await bench.assertUsable(model)
  },
}
