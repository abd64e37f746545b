// `npm run bench [start] [overhead] [engine] [isolation] [estimate] [proxy] [llama-server] [simulate]`: ratios side by side in one run, medians of 7 interleaved rounds with their spread.
// Needs `npm test` to have prepared the engine and the model once. Measure on a machine that does nothing else.
import { build, installDependencies } from '../scripts/prepare-checkout.mjs'
import { benchContexts } from './contexts-bench.mjs'
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
/** The last takes five minutes. */
const ALL = { ...BENCHES, contexts: benchContexts }
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(ALL)
for (const name of names) {
  console.log(`\n${name}`)
  await ALL[name]()
}
