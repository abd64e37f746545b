// A server in miniature: loads tiny-chat in a real llama-server, keeps it busy, prints its pid, then waits to be killed. Run with jiti,
// since Node 20 reads no TypeScript.
import { chat, NEVER } from '../node-llama-cpp/fixtures.ts'
import { loadServer } from '../llama-server/fixtures.ts'

const model = await loadServer()
const endless = chat('Count.', { sampling: { logitBias: { 0: -100, 2: -100 } } })
await model.run(endless, { slot: 0, keptPrefix: 0, signal: NEVER }).next()
console.log(JSON.stringify({ pid: model.pid }))
setInterval(() => undefined, 1000)
