// `npm run bench [start] [overhead] [engine] [isolation] [estimate] [proxy] [llama-server] [simulate] [contexts | contexts:PART]`: ratios side by side in one run, medians of 7 interleaved rounds with their spread.
// Needs `npm test` to have prepared the engine and the model once. Measure on a machine that does nothing else.
import { build, installDependencies } from '../scripts/prepare-checkout.mjs'
import { CONTEXT_BENCHES } from './contexts-bench.mjs'
import { benchEngine } from './engine-bench.mjs'
import { benchEstimate } from './estimate-bench.mjs'
import { benchIsolation } from './isolation-bench.mjs'
import { benchLlamaServer } from './llama-server-bench.mjs'
import { benchOverhead } from './overhead-bench.mjs'
import { benchProxy } from './proxy-bench.mjs'
import { benchSimulate } from './simulate-bench.mjs'
import { benchStart } from './start-bench.mjs'

const BENCHES = {
  start: benchStart,
  overhead: benchOverhead,
  engine: benchEngine,
  isolation: benchIsolation,
  estimate: benchEstimate,
  proxy: benchProxy,
  'llama-server': benchLlamaServer,
  simulate: benchSimulate,
}

await installDependencies()
build()
const ALL = { ...BENCHES, ...CONTEXT_BENCHES }
const names = process.argv.length > 2 ? process.argv.slice(2) : [...Object.keys(BENCHES), 'contexts']
const unknown = names.filter((name) => ALL[name] === undefined)
if (unknown.length > 0) throw new Error(`No bench ${unknown.join(', ')}: ${Object.keys(ALL).join(', ')}`)
for (const name of names) {
  console.log(`\n${name}`)
  await ALL[name]()
}
