import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Nobody waits longer, whoever was to leave the mark. */
const PATIENCE = 20 * 60_000

/** `npm test` fetches engines and models while unit tests run, and leaves a mark; there is none when vitest is started by itself. */
const mark = process.env['MODELYARD_TESTS_PREPARED']

if (mark !== undefined) {
  const deadline = performance.now() + PATIENCE
  while (!existsSync(mark)) {
    if (performance.now() > deadline) throw new Error(`Engines and models are not here after ${PATIENCE} ms.`)
    await sleep(50)
  }
  const problem = readFileSync(mark, 'utf8')
  if (problem !== '') throw new Error(problem)
}
