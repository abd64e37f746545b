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
        await Promise.all([model.unload(), model.unload()])
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
]
