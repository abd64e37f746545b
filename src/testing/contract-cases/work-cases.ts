import assert from 'node:assert/strict'
import { sleep } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { failure, readAll, rejection } from '../contract-bench.ts'
import { assertInTime } from '../soonest.ts'
import type { WorkCheck } from '../work-bench.ts'

/** By what they show. */
export const workCases: Readonly<Record<string, WorkCheck>> = {
  'says that it can be used here, with its version': async ({ subject }) => {
    const availability = await subject.engine.detect()
    assert(availability.available)
    assert.notEqual(availability.version, '')
  },
  'plans the same load twice alike, as data that can cross to another process': async ({ subject }) => {
    const plan = await subject.plan()
    assert.deepEqual(structuredClone(plan), await subject.plan())
    assert.equal(plan.engine, subject.engine.name)
    assert(plan.capabilities.tasks.includes(subject.task.kind))
  },
  'starts with `started`, makes what was asked for, and ends with its usage': async (bench) => {
    const { parts, result } = await readAll(bench.start(await bench.shared(), bench.subject.task))
    assert.equal(parts[0]?.type, 'started')
    assert.equal(parts.filter(({ type }) => type === 'started').length, 1)
    bench.subject.verify(parts)
    assert.equal(result.finishReason, 'stop')
    assert.equal(parts[0].promptTokens, result.usage.promptTokens)
  },
  'refuses what is wrong with a task before its first part, and goes on': async (bench) => {
    const model = await bench.shared()
    const { task, code } = bench.subject.refused
    await failure(bench.start(model, task).next(), code)
    await bench.assertUsable(model)
  },
  'warms up with real work, gives up on the signal, and answers afterwards (R12, M11)': async (bench) => {
    const model = await bench.shared()
    await model.warmUp(new AbortController().signal)
    await assert.rejects(model.warmUp(AbortSignal.abort()))
    await bench.assertUsable(model)
    assert.equal(typeof model.lastProgress, 'number')
  },
  'says what memory it holds, and that it is alive': async (bench) => {
    const model = await bench.shared()
    await model.ping()
    const { ram } = await model.memory()
    assert(ram !== undefined && ram.private + ram.shared > 0, 'it holds no memory')
  },
  'ends within 250 ms of an abort while it works, and is usable afterwards': async (bench) => {
    const model = await bench.shared()
    for (const after of [0, 100]) {
      await assertInTime(async () => {
        const controller = new AbortController()
        const running = readAll(bench.start(model, bench.subject.long, controller.signal))
        running.catch(() => undefined)
        await sleep(bench.clock, after)
        const why = new ModelyardError('aborted', 'The client is gone.')
        const begun = bench.clock.now()
        controller.abort(why)
        assert.equal(await rejection(running), why, 'it must end with the signal’s own reason')
        const ended = bench.clock.now() - begun
        await bench.assertUsable(model)
        return ended
      })
    }
  },
  'ends a run whose signal had fired before with its reason': async (bench) => {
    const model = await bench.shared()
    const why = new ModelyardError('aborted', 'The client is gone.')
    assert.equal(await rejection(bench.start(model, bench.subject.task, AbortSignal.abort(why)).next()), why)
    await bench.assertUsable(model)
  },
  'is cancelled by breaking out of the stream': async (bench) => {
    const model = await bench.shared()
    for await (const part of bench.start(model, bench.subject.long)) {
      assert(part !== undefined)
      break
    }
    await bench.assertUsable(model)
  },
  'takes nothing for a stream that nobody ever reads': async (bench) => {
    const model = await bench.shared()
    await bench.start(model, bench.subject.long).return(undefined as never)
    await bench.assertUsable(model)
  },
  'does what is asked for at once one after the other': async (bench) => {
    const model = await bench.shared()
    await Promise.all([1, 2, 3].map(async () => bench.assertUsable(model)))
  },
  'cuts a run under way when it is unloaded, and says that the exit was expected': async (bench) => {
    await bench.withOwnModel(async (model) => {
      const running = readAll(bench.start(model, bench.subject.long))
      running.catch(() => undefined)
      await sleep(bench.clock, 100)
      await Promise.all([model.unload(), model.unload()])
      await failure(running, 'run_cut')
      assert.equal((await model.exited).expected, true)
      await failure(bench.start(model, bench.subject.task).next(), 'worker_exited')
      await failure(model.countTokens(bench.subject.task), 'worker_exited')
      await failure(model.warmUp(new AbortController().signal), 'worker_exited')
      await failure(model.memory(), 'worker_exited')
      await failure(model.ping(), 'worker_exited')
    })
    await bench.nothingLeft()
  },
  'refuses a load that was given up before it began, and gives one up on its signal': async (bench) => {
    await failure(bench.load(undefined, AbortSignal.abort()), 'aborted')
    const controller = new AbortController()
    await failure(
      bench.load(undefined, controller.signal, () => controller.abort()),
      'aborted',
    )
    await bench.nothingLeft()
  },
  'refuses a damaged model with its class, and leaves nothing behind': async (bench) => {
    const error = await failure(bench.load(await bench.subject.corrupt()), 'model_load_failed')
    assert.equal(error.details['failure'], 'bad_file', error.message)
    await bench.nothingLeft()
  },
}
