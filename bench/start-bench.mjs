import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rendered, startBareEngine } from './bare-process.mjs'
import { MODEL, ROOT, startServer, streamChat } from './server.mjs'
import { ratios, row, spread } from './statistics.mjs'

const ROUNDS = 7
const THREADS = 1
const CONTEXT = 2048

function residentMiB(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
}

/** Milliseconds from the start of a bare node:http server to the line that says it listens: what of ours is Node's and this machine's. */
async function startBareServer() {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [join(ROOT, 'bench/bare-http.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const took = performance.now() - startedAt
  child.kill()
  await once(child, 'exit')
  return took
}

/** Milliseconds from the start of a process with the engine alone to its first token. */
async function firstTokenAlone() {
  const startedAt = performance.now()
  const engine = await startBareEngine(MODEL, { threads: THREADS, contextSize: CONTEXT })
  await engine.ask([rendered('Hello')], 1)
  const took = performance.now() - startedAt
  engine.stop()
  return took
}

/** From the start of the process to listening and to the first token of a model that is not in memory; memory without a model. */
export async function benchStart() {
  const listening = []
  const bare = []
  const resident = []
  const firstToken = []
  const alone = []
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await startBareServer())
    const server = await startServer({
      m: { file: MODEL, context: CONTEXT, system: '', device: { gpu: false, threads: THREADS } },
    })
    listening.push(server.took)
    await new Promise((later) => setTimeout(later, 500))
    resident.push(residentMiB(server.pid))
    const { times } = await streamChat(server.url, {
      model: 'm',
      max_tokens: 4,
      messages: [{ role: 'user', content: 'Hello' }],
    })
    firstToken.push(times[0])
    await server.stop()
    alone.push(await firstTokenAlone())
  }
  row('start to listening, ms', spread(listening, 0), '≤ 350')
  row('start to listening, ms: bare node:http', spread(bare, 0))
  row('start to listening: ratio', spread(ratios(listening, bare)))
  row('resident memory without a model, MiB', spread(resident, 1), '≤ 90')
  row('first token of a cold model, ms', spread(firstToken, 0), '≤ 1300')
  row('first token of a cold model, ms: engine alone in a new process', spread(alone, 0))
  row('first token of a cold model: ratio', spread(ratios(firstToken, alone)))
}
