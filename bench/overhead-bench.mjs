import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { ROOT, startServer, streamChat } from './server.mjs'
import { percentile, ratios, row, spread } from './statistics.mjs'

/** `MODELYARD_BENCH_ROUNDS=1 MODELYARD_BENCH_REQUESTS=100` is enough to see that it runs. */
const REQUESTS = Number(process.env['MODELYARD_BENCH_REQUESTS'] ?? 1500)
const ROUNDS = Number(process.env['MODELYARD_BENCH_ROUNDS'] ?? 7)
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

/**
 * Milliseconds of each request of so many clients, each asking one after the other, from Node's own client: autocannon's histogram has whole
 * milliseconds only.
 */
async function latencies(url, clients, count = REQUESTS) {
  const body = JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'Hello there' }] })
  const times = []
  const ask = async () => {
    const startedAt = performance.now()
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    await response.arrayBuffer()
    times.push(performance.now() - startedAt)
  }
  const client = async () => {
    for (let index = 0; index < count / clients; index++) await ask()
  }
  await Promise.all(Array.from({ length: clients }, client))
  return times
}

/** Parts (tokens of the engine) and events of streams per second, all clients together. */
async function streamed(url, clients) {
  const startedAt = performance.now()
  const body = { model: 'talker', messages: [{ role: 'user', content: 'Talk' }] }
  const streams = await Promise.all(Array.from({ length: clients }, () => streamChat(url, body)))
  const seconds = (performance.now() - startedAt) / 1000
  const sum = (count) => streams.reduce((all, stream) => all + count(stream), 0) / seconds
  return { parts: sum(({ usage }) => usage.completion_tokens), events: sum(({ times }) => times.length) }
}

const CLIENTS = [1, 32]
const SHARES = [
  ['p50', 0.5],
  ['p99', 0.99],
]

/** Latency of each number of clients, ours beside the bare server's, round by round. */
async function measureLatency(url, bareUrl, rounds) {
  for (const clients of CLIENTS) {
    const ours = await latencies(url, clients)
    const theirs = await latencies(bareUrl, clients)
    for (const [name, share] of SHARES) {
      const key = `${clients} client${clients === 1 ? '' : 's'}, ${name} ms`
      rounds[key] ??= [[], []]
      rounds[key][0].push(percentile(ours, share))
      rounds[key][1].push(percentile(theirs, share))
    }
  }
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
    talker: {
      engine: 'scripted',
      memory: '1MiB',
      slots: 64,
      keepAlive: -1,
      script: [{ match: '.*', text: 'word ', repeat: 2000 }],
    },
  })
  const bare = fork(join(ROOT, 'bench/bare-http.mjs'))
  const [bareUrl] = await once(bare, 'message')
  const latency = {}
  const many = [[], []]
  const streams = CLIENTS.map(() => [])
  await shoot(server.url, 32, 3)
  await shoot(bareUrl, 32, 1)
  for (let round = 0; round < ROUNDS; round++) {
    await measureLatency(server.url, bareUrl, latency)
    for (const [index, clients] of CLIENTS.entries()) streams[index].push(await streamed(server.url, clients))
    many[0].push((await shoot(server.url, 32)).requests.average)
    many[1].push((await shoot(bareUrl, 32)).requests.average)
  }
  bare.disconnect()
  await server.stop()
  for (const [name, [ours, theirs]] of Object.entries(latency)) {
    row(name, spread(ours))
    row(`${name}: bare node:http`, spread(theirs))
    const added = ours.map((value, index) => value - theirs[index])
    row(`${name}: added`, spread(added), name.startsWith('1 client, p50') ? '≤ 1' : undefined)
  }
  for (const [index, clients] of CLIENTS.entries()) {
    const of = (what) =>
      spread(
        streams[index].map((round) => round[what]),
        0,
      )
    row(`${clients} streams, parts/s`, of('parts'))
    row(`${clients} streams, events/s`, of('events'))
  }
  row('32 connections, requests/s', spread(many[0], 0), '≥ 6000')
  row('32 connections, requests/s: bare node:http', spread(many[1], 0))
  row('32 connections: ratio', spread(ratios(many[0], many[1])))
}
