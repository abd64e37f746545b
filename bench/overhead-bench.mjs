import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { ROOT, startServer } from './server.mjs'
import { ratios, row, spread } from './statistics.mjs'

const ROUNDS = 7
const SECONDS = 4

async function shoot(url, connections, duration = SECONDS) {
  const result = await autocannon({
    url: `${url}/v1/chat/completions`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hello there' }] }),
    connections,
    duration,
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refusals, ${result.errors} errors`)
  return result
}

/** Milliseconds per request one after the other, from Node's own client: autocannon's histogram has whole milliseconds only. */
async function latency(url, count = 1500) {
  const body = JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hello there' }] })
  const times = []
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    await response.arrayBuffer()
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)[Math.floor(count / 2)]
}

/** The whole path with the scripted engine, beside a bare node:http server that does the same, rounds interleaved. */
export async function benchOverhead() {
  const server = await startServer({
    fake: {
      engine: 'scripted',
      memory: '1MiB',
      slots: 64,
      keepAlive: -1,
      script: [{ match: '.*', text: ['Hel', 'lo'] }],
    },
  })
  const bare = fork(join(ROOT, 'bench/bare-http.mjs'))
  const [bareUrl] = await once(bare, 'message')
  const one = [[], []]
  const many = [[], []]
  await shoot(server.url, 32, 3)
  await shoot(bareUrl, 32, 1)
  for (let round = 0; round < ROUNDS; round++) {
    one[0].push(await latency(server.url))
    one[1].push(await latency(bareUrl))
    many[0].push((await shoot(server.url, 32)).requests.average)
    many[1].push((await shoot(bareUrl, 32)).requests.average)
  }
  bare.disconnect()
  await server.stop()
  row('1 connection, p50 ms', spread(one[0]))
  row('1 connection, p50 ms: bare node:http', spread(one[1]))
  row('1 connection, p50 ms: added', spread(one[0].map((value, index) => value - one[1][index])), '≤ 1')
  row('32 connections, requests/s', spread(many[0], 0), '≥ 6000')
  row('32 connections, requests/s: bare node:http', spread(many[1], 0))
  row('32 connections: ratio', spread(ratios(many[0], many[1])))
}
