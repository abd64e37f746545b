import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildFastLoad, shoot, startUpstream } from './fast/load.mjs'
import { ROOT, startServer } from './server.mjs'
import { ratios, row, spread } from './statistics.mjs'

const ROUNDS = Number(process.env.MODELYARD_BENCH_ROUNDS ?? 5)
const SECONDS = Number(process.env.MODELYARD_BENCH_SECONDS ?? 3)
/** V8 compiles for some ten thousand requests: a sixth of all processor time in the first thousands, a twentieth later. A server runs for days. */
const WARM_UP_SECONDS = 15
const MIB = 1024

/** With tools and a schema, so that all that is read, checked and fingerprinted is switched on. */
const REQUEST = {
  model: 'fake',
  messages: [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content: 'Hello there, how is the weather?' },
  ],
  tools: [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ],
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: { type: 'object', properties: { text: { type: 'string' } } } },
  },
}
const [WHOLE, STREAMED] = [false, true].map((stream) => ({ ...REQUEST, stream }))

function residentMiB(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN) / MIB
}

/** One round of one server: the median of one connection, and what 32 have a second, whole and streamed. */
async function ask(program, url) {
  const one = await shoot(program, url, { body: WHOLE, connections: 1, seconds: SECONDS })
  const many = await shoot(program, url, { body: WHOLE, connections: 32, seconds: SECONDS })
  const streams = await shoot(program, url, { body: STREAMED, connections: 32, seconds: SECONDS })
  return { latency: one.p50, many: many.perSecond, streams: streams.perSecond }
}

async function warmUp(program, url) {
  for (const body of [WHOLE, STREAMED])
    await shoot(program, url, { body, connections: 32, seconds: WARM_UP_SECONDS })
}

/** Asks the upstream itself, Modelyard and a bare pass-through by turns. */
async function measure(program, { direct, ours, bare }) {
  const rounds = { direct: [], ours: [], bare: [] }
  const contestants = Object.entries({ direct, ours, bare })
  for (const [, url] of contestants) await warmUp(program, url)
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, url] of contestants) rounds[name].push(await ask(program, url))
  return rounds
}

function tellMany(title, rounds, key, target) {
  const [ours, bare] = [rounds.ours, rounds.bare].map((all) => all.map((each) => each[key]))
  row(title, spread(ours, 0), target)
  row('   a bare pass-through; ratio', `${spread(bare, 0)}; ${spread(ratios(ours, bare))}`)
}

function tell(rounds) {
  const added = (all) => spread(all.map(({ latency }, index) => latency - rounds.direct[index].latency))
  row('1 connection, p50 ms: added', added(rounds.ours), '≤ 0.2')
  row('   a bare pass-through', added(rounds.bare))
  tellMany('32 connections, requests/s', rounds, 'many', '≥ 10000')
  tellMany('32 connections, streams of 16 pieces/s', rounds, 'streams', '≥ 6500')
}

/** What Modelyard adds to an upstream that costs nearly nothing, beside a bare pass-through; Linux with Go. */
export async function benchProxy() {
  const program = buildFastLoad()
  const upstream = await startUpstream(program)
  const passThrough = fork(join(ROOT, 'bench/bare-proxy.mjs'), [upstream.url])
  const [bare] = await once(passThrough, 'message')
  const fake = { engine: 'upstream', url: `${upstream.url}/v1`, slots: 64, keepAlive: -1 }
  const server = await startServer({ fake })
  try {
    tell(await measure(program, { direct: upstream.url, ours: server.url, bare }))
    row('resident MiB after that', residentMiB(server.pid).toFixed(0), '≤ 150')
    row('   a bare pass-through', residentMiB(passThrough.pid).toFixed(0))
  } finally {
    passThrough.disconnect()
    upstream.stop()
    await server.stop()
  }
}
