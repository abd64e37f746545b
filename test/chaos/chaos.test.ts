import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { PROGRAM_BYTES } from '../../src/engines/llama-cpp/footprint.ts'
import { createYard } from '../../src/yard.ts'
import { SeededNumbers } from '../models/tiny-weights.ts'
import { descendants, HAS_LLAMA, openHome, serve, type ServedYard } from '../yard/harness.ts'
import { ChaosClient, ChaosReport, PATIENCE } from './chaos-client.ts'
import { disturb } from './chaos-disturbance.ts'
import { chaosModels, questionsOf, type ChaosModels } from './chaos-models.ts'
import { ChaosWatch } from './chaos-watch.ts'

const SECONDS = Number(process.env['MODELYARD_CHAOS_SECONDS'] ?? 45)
const SEED = Number(process.env['MODELYARD_CHAOS_SEED'] ?? 4)
const CLIENTS = 32

const SPARE = 8 * 1024 ** 2

/** What each model would take, as the yard itself says. */
async function sizesOf({ entries }: ChaosModels, engines: string): Promise<number[]> {
  await using yard = await createYard({ home: engines, models: entries })
  const plans = await Promise.all(Object.keys(entries).map(async (model) => yard.plan(model)))
  return plans.map(({ bytes }) => bytes.ram ?? 0).toSorted((a, b) => b - a)
}

describe.runIf(HAS_LLAMA)('chaos: three times more than fits (BR-69)', () => {
  it(
    `${CLIENTS} clients on six models with room for two, streams, aborts, unloads, settings, kill −9 for ${SECONDS} s: no hang, no wrong text, nothing over budget, nothing left`,
    async () => {
      const home = await openHome()
      const models = await chaosModels(home.path)
      const questions = await questionsOf(models, 6)
      const [largest = 0, second = 0] = await sizesOf(models, home.path)
      // Two share the pages of their program. What is measured may be a little more than was estimated.
      const budgets = { room: largest + second - PROGRAM_BYTES + 2 * SPARE, less: largest + SPARE }
      let budget = budgets.room
      const configure = async (): Promise<void> =>
        home.configure({ models: models.entries, memory: { budget }, swap: { patience: PATIENCE / 1000 } })
      await configure()
      const served = await serve(home)
      let [lowered, loweredAt] = [false, 0]
      const changeSettings = async (): Promise<void> => {
        lowered = !lowered
        loweredAt = performance.now()
        budget = lowered ? budgets.less : budgets.room
        await configure()
      }
      // A smaller budget is reached when the runs that hold more have ended.
      const inForce = (): number =>
        lowered && performance.now() - loweredAt > 30_000 ? budgets.less : budgets.room

      const [working, watching] = [new AbortController(), new AbortController()]
      const watch = new ChaosWatch(served.program.pid, inForce)
      const watched = watch.watch(watching.signal)
      const report = new ChaosReport()
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        const random = new SeededNumbers(SEED * 1000 + client)
        return new ChaosClient(served.api, questions, { random, report }).work(working.signal)
      })
      const disturbed = disturb(served.api, new SeededNumbers(SEED), {
        changeSettings,
        ended: working.signal,
      })
      await sleep(SECONDS * 1000)
      working.abort()
      const disturbances = await disturbed
      await Promise.all(clients)
      watching.abort()
      await watched
      const { errors, answers, aborted, nearTies, faults } = report
      const loads = (await served.api.state()).models.map(({ loads: count = 0 }) => count)
      console.log(
        `chaos: ${answers} answers, ${aborted} aborted, ${nearTies} near-ties, errors ${JSON.stringify(errors)}, ` +
          `${JSON.stringify(disturbances)}, loads ${loads.join('+')}, most ${Math.round(watch.most / 1e6)} of ${Math.round(budgets.room / 1e6)} MB ` +
          `in ${watch.readings} readings, server grew ${Math.round(watch.growth / 1e6)} MB`,
      )
      expect(faults).toEqual([])
      expect(watch.over).toEqual([])
      // A busy machine makes a tenth of what an idle one does.
      expect(answers).toBeGreaterThan(SECONDS / 3)
      expect(disturbances.kills).toBeGreaterThan(SECONDS / 60)
      // Forty seconds are too short to tell a leak from what a process warms up to; ten minutes are not.
      expect(watch.growth).toBeLessThan(60e6)
      await expectQuiet(served)
      await served.stop()
      expect(descendants(served.program.pid)).toEqual([])
    },
    SECONDS * 1000 + 400_000,
  )
})

/** Nobody is forgotten: no run, no ticket, no lease. */
async function expectQuiet({ api }: ServedYard): Promise<void> {
  await api.until(({ runs, queue }) => runs.active === 0 && queue.length === 0, 60_000)
}
