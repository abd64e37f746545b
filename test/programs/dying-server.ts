// A server in miniature: loads one model in a worker, prints the worker's pid, then waits to be killed, or dies as it is told. Run
// with jiti, since Node 20 reads no TypeScript. argv: worker program, records directory (empty = none), options as JSON.
import { load, createWorkerEngine, order } from '../worker/worker-fixtures.ts'

interface Options {
  busy?: Record<string, unknown>
  exitAfter?: number
  throwAfter?: number
}

const [entry = '', recordsDirectory = '', json = '{}'] = process.argv.slice(2)
const options = JSON.parse(json) as Options & Record<string, unknown>
const engine = createWorkerEngine({ entry, ...(recordsDirectory === '' ? {} : { recordsDirectory }) })
const model = await load(engine, options)
if (options.busy !== undefined) {
  const { signal } = new AbortController()
  void model.run(order(options.busy), { slot: 0, keptPrefix: 0, signal }).next()
}
console.log(JSON.stringify({ pid: model.pid }))
setInterval(() => undefined, 1000)
if (options.exitAfter !== undefined) setTimeout(() => process.exit(0), options.exitAfter)
if (options.throwAfter !== undefined) {
  setTimeout(() => {
    throw new Error('nobody catches this')
  }, options.throwAfter)
}
