// Writes to a store as fast as it can, and says after each flush how far it is. Ended by kill −9 in the test beside it.
import { writeSync } from 'node:fs'
import { ManualClock, sleep, SystemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open-store.ts'

const [path = '', start = '0'] = process.argv.slice(2)
const clock = new ManualClock(1_000_000)
// The system clock's timers keep nobody alive; this does.
process.stdin.resume()
writeSync(1, 'begun\n')
const store = await openStore(path, {
  clock,
  onProblem: (problem) => writeSync(1, `problem ${problem.message}\n`),
  retention: { runs: { count: 1e9, age: 1e15 }, events: { count: 1e9, age: 1e15 } },
})
for (let n = Number(start); ; n++) {
  const usage = { promptTokens: n, cachedTokens: 0, savedMs: 0, completionTokens: 1 }
  const times = { queueMs: 0, loadMs: 0, prefillMs: 0, decodeMs: 0, totalMs: 0 }
  store.runs.append({
    id: `${n}`,
    model: 'm',
    instance: null,
    kind: 'chat',
    startedAt: 1,
    outcome: 'stop',
    request: null,
    placement: null,
    error: null,
    ...times,
    ...usage,
  })
  store.measurements.write(`plan-${n % 10}`, 'm', { ram: { private: n, shared: 0 } })
  if (n % 7 !== 0) continue
  store.flush()
  writeSync(1, `${n}\n`)
  await sleep(new SystemClock(), 1)
}
