// A server in miniature: loads one model in a worker, prints the worker's pid, then waits to be killed, or dies as it is told. Run
// with jiti, since Node 20 reads no TypeScript. argv: worker program, records directory (empty = none), options as JSON.
import { load, createWorkerEngine, order } from '../worker/worker-fixtures.ts'

interface Options {
  busy?: Record<string, unknown>
  /** What it does on SIGUSR2: whoever starts it has seen its worker alive by then. */
  end?: 'exit' | 'throw'
}

const [entry = '', recordsDirectory = '', json = '{}'] = process.argv.slice(2)
const options = JSON.parse(json) as Options & Record<string, unknown>
const engine = createWorkerEngine({ entry, ...(recordsDirectory === '' ? {} : { recordsDirectory }) })
const model = await load(engine, options)
if (options.busy !== undefined) {
  const { signal } = new AbortController()
  void model.run(order(options.busy), { slot: 0, keptPrefix: 0, signal }).next()
}
process.on('SIGUSR2', () => {
  if (options.end === 'exit') process.exit(0)
  throw new Error('nobody catches this')
})
console.log(JSON.stringify({ pid: model.pid }))
setInterval(() => undefined, 1000)
