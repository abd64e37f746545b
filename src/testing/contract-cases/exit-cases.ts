import assert from 'node:assert/strict'
import type { LoadedModel } from '../../engines/engine.ts'
import { CONTEXT, failure, readAll, type ContractBench } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'
import { endStandingStill, isThere, NEWS_LIMIT, send } from '../process-of-model.ts'

/** A model of its own that may be ended in any way; nothing of it is left. */
async function withVictim(bench: ContractBench, use: (model: LoadedModel) => Promise<void>): Promise<void> {
  const model = await bench.load(await bench.plan({ slots: 2, contextSize: CONTEXT }))
  try {
    await use(model)
  } finally {
    await model.unload()
  }
  assert(!isThere(model), 'its process is still there')
}

/** Kills the process under a run that has begun so far. */
async function killUnder(bench: ContractBench, parts: number): Promise<void> {
  await withVictim(bench, async (model) => {
    const stream = bench.start(model, bench.subject.endless)
    for (let part = 0; part < parts; part++) await stream.next()
    const running = readAll(stream)
    running.catch(() => undefined)
    if (parts === 0) await bench.pause(5)
    const begun = bench.clock.now()
    send(model, 'SIGKILL')
    await failure(running, 'worker_exited')
    assert(bench.clock.now() - begun < NEWS_LIMIT)
    const { expected, reason } = await model.exited
    assert.equal(expected, false)
    assert.notEqual(reason, '')
    await failure(model.ping(), 'worker_exited')
    await failure(model.memory(), 'worker_exited')
  })
}

export const exitCases: readonly ContractCheck[] = [
  {
    name: 'says which process holds a model, where one does',
    async check(bench) {
      const model = await bench.shared()
      const { ownProcess = false } = bench.subject
      assert.equal(model.pid !== undefined, ownProcess, `it says ${model.pid ?? 'none'}`)
      assert.equal(isThere(model), ownProcess)
    },
  },
  {
    name: 'tells everybody when its process is killed while it generates',
    needs: 'ownProcess',
    check: async (bench) => killUnder(bench, 3),
  },
  {
    name: 'tells everybody when its process is killed before the first part',
    needs: 'ownProcess',
    check: async (bench) => killUnder(bench, 0),
  },
  {
    name: 'tells that its process was killed while it was idle, and the next load works',
    needs: 'ownProcess',
    async check(bench) {
      await withVictim(bench, async (model) => {
        send(model, 'SIGKILL')
        assert.equal((await model.exited).expected, false)
        await failure(bench.start(model, bench.chat(0).task).next(), 'worker_exited')
      })
      await bench.withOwnModel((next) => bench.assertUsable(next))
    },
  },
  {
    name: 'answers everybody when its process is killed while it is unloaded',
    needs: 'ownProcess',
    async check(bench) {
      await withVictim(bench, async (model) => {
        const stream = bench.start(model, bench.subject.endless)
        await stream.next()
        const running = readAll(stream)
        running.catch(() => undefined)
        const unloaded = model.unload()
        if (isThere(model)) send(model, 'SIGKILL')
        await unloaded
        await assert.rejects(running, /unloaded|worker/i)
        assert.equal((await model.exited).expected, true)
      })
    },
  },
  {
    name: 'ends a process that stands still and obeys no signal but the last, when it is unloaded (BR-18)',
    needs: 'ownProcess',
    async check(bench) {
      await withVictim(bench, async (model) => {
        await endStandingStill(model, readAll(bench.start(model, bench.subject.endless)), bench.clock)
      })
    },
  },
]
