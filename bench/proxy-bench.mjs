import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { ROOT, startServer } from './server.mjs'
import { row, spread } from './statistics.mjs'

const ROUNDS = Number(process.env.MODELYARD_BENCH_ROUNDS ?? 3)
const SECONDS = Number(process.env.MODELYARD_BENCH_SECONDS ?? 3)
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
const HEADERS = { 'content-type': 'application/json' }

async function shoot(url, stream) {
  const result = await autocannon({
    url: `${url}/v1/chat/completions`,
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ ...REQUEST, stream }),
    connections: 32,
    duration: SECONDS,
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refusals, ${result.errors} errors`)
  return result.requests.average
}

/** Milliseconds of one request after the other, the median. */
async function latency(url, count = 300) {
  const body = JSON.stringify(REQUEST)
  const times = []
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: HEADERS, body })
    await response.arrayBuffer()
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)[Math.floor(count / 2)]
}

function residentMiB(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN) / MIB
}

/** What Modelyard adds to an upstream that costs nothing; Linux. */
export async function benchProxy() {
  const upstream = fork(join(ROOT, 'bench/fake-upstream.mjs'))
  const [direct] = await once(upstream, 'message')
  const server = await startServer({
    fake: { engine: 'upstream', url: `${direct}/v1`, slots: 64, keepAlive: -1 },
  })
  try {
    await shoot(server.url, false)
    const added = []
    const many = []
    const streams = []
    for (let round = 0; round < ROUNDS; round++) {
      added.push((await latency(server.url)) - (await latency(direct)))
      many.push(await shoot(server.url, false))
      streams.push(await shoot(server.url, true))
    }
    row('1 connection, p50 ms: added', spread(added), '≤ 0.2')
    row('32 connections, requests/s', spread(many, 0), '≥ 10000')
    row('32 connections, streams of 16 pieces/s', spread(streams, 0), '≥ 6500')
    row('resident MiB after that', residentMiB(server.pid).toFixed(0), '≤ 150')
  } finally {
    upstream.disconnect()
    await server.stop()
  }
}
