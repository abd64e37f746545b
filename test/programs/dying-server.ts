// A server in miniature: loads one model in a worker, prints the worker's pid, then waits to be killed. Run with jiti, since Node
// 20 reads no TypeScript. argv: worker program, records directory, options of the model as JSON.
import { createWorkerEngine, planFor } from '../worker/worker-fixtures.ts'

const [entry = '', recordsDirectory = '', options = '{}'] = process.argv.slice(2)
const engine = createWorkerEngine({ entry, recordsDirectory })
const model = await engine.load(planFor(JSON.parse(options) as Record<string, unknown>), {
  signal: new AbortController().signal,
  onProgress: () => undefined,
})
const { busy } = JSON.parse(options) as { busy?: object }
if (busy !== undefined) {
  const task = { kind: 'completion' as const, prompt: JSON.stringify(busy), sampling: {}, stop: [] }
  void model.run(task, { slot: 0, keptPrefix: 0, signal: new AbortController().signal }).next()
}
console.log(JSON.stringify({ pid: model.pid }))
setInterval(() => undefined, 1000)
