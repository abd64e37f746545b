import assert from 'node:assert/strict'
import { failure, readAll } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'

export const unloadCases: readonly ContractCheck[] = [
  {
    name: 'cuts a run under way when it is unloaded, and says that the exit was expected',
    async check(bench) {
      await bench.withOwnModel(async (model) => {
        const stream = bench.start(model, bench.subject.endless)
        await stream.next()
        const running = readAll(stream)
        running.catch(() => undefined)
        await model.unload()
        await failure(running, 'run_cut')
        assert.equal((await model.exited).expected, true)
      })
    },
  },
  {
    name: 'can be unloaded twice, at once and later',
    async check(bench) {
      await bench.withOwnModel(async (model) => {
        let isGone = false
        void model.exited.then(() => (isGone = true))
        // No call comes back before the model is gone.
        const calls = [1, 2].map(async () => {
          await model.unload()
          return isGone
        })
        assert.deepEqual(await Promise.all(calls), [true, true])
        await model.unload()
        assert.equal((await model.exited).expected, true)
      })
    },
  },
  {
    name: 'rejects every call after its end with worker_exited',
    async check(bench) {
      await bench.withOwnModel(async (model) => {
        await model.unload()
        const { task } = bench.chat(0)
        await failure(bench.start(model, task).next(), 'worker_exited')
        await failure(model.countTokens(task), 'worker_exited')
        await failure(model.warmUp(new AbortController().signal), 'worker_exited')
        await failure(model.memory(), 'worker_exited')
        await failure(model.ping(), 'worker_exited')
        if (model.saveSlot !== undefined) await failure(model.saveSlot(0, '/nowhere'), 'worker_exited')
        if (model.restoreSlot !== undefined) await failure(model.restoreSlot(0, '/nowhere'), 'worker_exited')
      })
    },
  },
  {
    name: 'cuts a run before its first part when it is unloaded',
    async check(bench) {
      await bench.withOwnModel(async (model) => {
        const running = readAll(bench.start(model, bench.subject.endless))
        running.catch(() => undefined)
        await bench.pause(2)
        await model.unload()
        await failure(running, 'run_cut')
      })
    },
  },
]
