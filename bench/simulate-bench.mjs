import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const CLI = resolve(import.meta.dirname, '../dist/cli.js')
const REQUESTS = Number(process.env.MODELYARD_BENCH_REQUESTS ?? 300_000)
const USERS = 40
const MODELS = [
  ['a', '7 GiB', 3000],
  ['b', '8 GiB', 4000],
  ['c', '8 GiB', 6000],
  ['d', '7 GiB', 9000],
  ['e', '8 GiB', 5000],
]

/** Numbers from 0 to 1, the same each time. */
function numbers(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** A trace of 40 users who share five models of which three fit, each with conversations of up to eight turns. */
function* traceLines() {
  const random = numbers(1)
  const users = Array.from({ length: USERS }, () => ({ session: 0, turn: 0, left: 0, model: 'a' }))
  yield { modelyardTrace: 1, memory: { ram: '24 GiB' } }
  for (const [id, bytes, loadTime] of MODELS)
    yield { model: { id, bytes, loadTime, slots: 8, keepAlive: -1 } }
  let at = 0
  for (let request = 0; request < REQUESTS; request++) {
    at += -400 * Math.log(1 - random())
    const number = Math.floor(random() * USERS)
    const user = users[number]
    if (user.left === 0) {
      const [model] = MODELS[Math.min(MODELS.length - 1, Math.floor(-1.2 * Math.log(1 - random())))]
      Object.assign(user, { session: user.session + 1, turn: 0, left: 1 + Math.floor(random() * 8), model })
    }
    const conversation = `${number} ${user.session}`
    const hold = 200 + Math.floor(random() * 1300)
    yield { at: Math.floor(at), model: user.model, hold, conversation, turn: user.turn }
    user.turn++
    user.left--
  }
}

/** Events a second of `modelyard simulate`, of the whole command's wall time: start, reading the trace and playing it. */
export async function benchSimulate() {
  const folder = mkdtempSync(join(tmpdir(), 'modelyard-bench-'))
  try {
    const trace = join(folder, 'trace.jsonl')
    writeFileSync(trace, `${[...traceLines()].map((line) => JSON.stringify(line)).join('\n')}\n`)
    const begun = performance.now()
    const { stdout, stderr, status } = spawnSync(process.execPath, [CLI, 'simulate', trace, '--json'], {
      encoding: 'utf8',
    })
    const wall = performance.now() - begun
    if (status !== 0) throw new Error(stderr)
    const [{ events, eventsPerSecond, overBudget }] = JSON.parse(stdout).simulations
    console.log(`${REQUESTS} requests, ${events} events, ${overBudget} moments over budget`)
    console.log(
      `whole command: ${(wall / 1000).toFixed(1)} s, ${Math.round((events * 1000) / wall)} events a second`,
    )
    console.log(`the play alone: ${eventsPerSecond} events a second`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
