import assert from 'node:assert/strict'
import type { LoadProgress } from '../../engines/engine.ts'
import { CONTEXT, failure, loadOneOfTwo } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'

export const loadCases: readonly ContractCheck[] = [
  {
    name: 'says that it can be used here, with its version',
    async check({ subject }) {
      const availability = await subject.engine.detect()
      assert(availability.available, 'it must be available where the contract is tested')
      assert.notEqual(availability.version, '')
    },
  },
  {
    name: 'plans the same load twice alike, as data that can cross to another process',
    async check(bench) {
      const plan = await bench.plan()
      assert.deepEqual(structuredClone(plan), await bench.plan())
      assert.equal(plan.engine, bench.subject.engine.name)
      const other = await bench.plan({ slots: 1, contextSize: 512 })
      assert.notEqual(other.key, plan.key, 'another load must have another key')
    },
  },
  {
    name: 'loads with progress from starting on, and the model holds its plan',
    async check(bench) {
      const seen: LoadProgress[] = []
      const plan = await bench.plan({ slots: 1, contextSize: 512 })
      const model = await bench.load(plan, { onProgress: (progress) => seen.push(progress) })
      await model.unload()
      assert.equal(seen[0]?.stage, 'starting')
      const fractions = seen.flatMap((progress) => (progress.stage === 'loading' ? [progress.fraction] : []))
      assert.deepEqual(
        fractions,
        fractions.toSorted((a, b) => a - b),
      )
      assert(fractions.every((fraction) => fraction >= 0 && fraction <= 1))
      assert.equal(model.plan.key, plan.key)
    },
  },
  {
    name: 'refuses a load that was given up before it began',
    async check(bench) {
      const signal = AbortSignal.abort()
      await failure(bench.load(undefined, { signal }), 'aborted')
    },
  },
  {
    name: 'gives a load up on its signal and leaves nothing behind',
    async check(bench) {
      const controller = new AbortController()
      const plan = await bench.plan({ slots: 1, contextSize: 512 })
      const loading = bench.load(plan, { signal: controller.signal, onProgress: () => controller.abort() })
      await failure(loading, 'aborted')
      assert.deepEqual((await bench.subject.leftovers?.()) ?? [], [])
      await bench.withOwnModel((model) => bench.assertUsable(model))
    },
  },
  {
    name: 'warms up with one real token, gives up on the signal, and answers afterwards (R12, M11)',
    async check(bench) {
      const model = await bench.shared()
      await model.warmUp(new AbortController().signal)
      await assert.rejects(model.warmUp(AbortSignal.abort()))
      await bench.assertUsable(model)
      assert.equal(typeof model.lastProgress, 'number')
    },
  },
  {
    name: 'says what memory it holds, and that it is alive',
    async check(bench) {
      const model = await bench.shared()
      await model.ping()
      const { ram } = await model.memory()
      assert(ram !== undefined && ram.private + ram.shared > 0, 'it holds no memory')
    },
  },
  {
    name: 'gives up one of two loads at once, the other is whole, and its end is nothing to a third model',
    async check(bench) {
      const plan = await bench.plan({ slots: 1, contextSize: CONTEXT })
      const model = await loadOneOfTwo((signal) => bench.load(plan, { signal }))
      await bench.assertUsable(model)
      await model.unload()
      await bench.assertUsable(await bench.shared())
    },
  },
  {
    name: 'refuses a damaged model with its class, and goes on (R11)',
    needs: 'corrupt',
    async check(bench) {
      const { corrupt } = bench.subject
      assert(corrupt !== undefined)
      const error = await failure(bench.load(await corrupt.plan()), 'model_load_failed')
      assert.equal(error.details['failure'], corrupt.failure, error.message)
      assert.deepEqual((await bench.subject.leftovers?.()) ?? [], [])
      await bench.assertUsable(await bench.shared())
    },
  },
  {
    name: 'refuses an option that it does not know, by name, before anything is loaded',
    needs: 'foreignOption',
    async check({ subject }) {
      const planned = Promise.resolve().then(async () => subject.foreignOption?.())
      assert.match((await failure(planned, 'config_invalid')).message, /banana/)
    },
  },
]
