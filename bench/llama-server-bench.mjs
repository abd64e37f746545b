import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ENGINES, MODEL, startServer, streamChat } from './server.mjs'
import { median, ratios, row, spread } from './statistics.mjs'

const ROUNDS = Number(process.env.MODELYARD_BENCH_ROUNDS ?? 3)
const TOKENS = 96
const SLOTS = 4
const CONTEXT = 2048
/** Tokens that end SmolLM2's turn are forbidden, so that every answer is as long. */
const NO_END = { temperature: 0, logit_bias: { 0: -100, 2: -100 } }
const LONG = Array.from({ length: 400 }, (_, index) => `word${index % 97}`).join(' ')

/** The program that Modelyard starts, with the same flags and nothing of Modelyard. */
async function startBare() {
  const threads = String(Math.max(1, availableParallelism() - 1))
  const args = [
    '-m',
    MODEL,
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '-c',
    String(CONTEXT * SLOTS),
    '-np',
    String(SLOTS),
  ]
  const more = [
    '-b',
    '512',
    '-ub',
    '512',
    '-t',
    threads,
    '-tb',
    String(availableParallelism()),
    '--cache-ram',
    '0',
    '--no-warmup',
  ]
  const child = spawn(join(ENGINES, 'llama-server/llama-server'), [...args, ...more], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stderr.resume()
  const url = await new Promise((found, failed) => {
    let text = ''
    child.stdout.on('data', (data) => {
      text += data
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(text)
      if (match !== null) found(match[0])
    })
    child.once('exit', (code) => failed(new Error(`llama-server ended with ${code}`)))
  })
  return { url, stop: () => child.kill('SIGTERM') }
}

/** Without the beginning of another conversation in its slot, as Modelyard evaluates what shares none of a conversation's messages (F1). */
const FROM_NOTHING = { cache_prompt: false }

let asked = 0
const question = (words) => [{ role: 'user', content: `${asked++} ${words}` }]

/** Tokens a second between the first and the last piece. */
async function decode({ url, fields }) {
  const { times } = await streamChat(url, {
    model: 'a',
    messages: question('Tell me a story.'),
    max_tokens: TOKENS,
    ...NO_END,
    ...fields,
  })
  return ((times.length - 1) * 1000) / (times.at(-1) - times[0])
}

/** Prompt tokens a second until the first piece. */
async function prefill({ url, fields }) {
  const { times, usage } = await streamChat(url, {
    model: 'a',
    messages: question(LONG),
    max_tokens: 2,
    ...NO_END,
    ...fields,
  })
  return (usage.prompt_tokens * 1000) / times[0]
}

/** Tokens a second of four answers at once. */
async function parallel({ url, fields }) {
  const startedAt = performance.now()
  const turn = { model: 'a', max_tokens: TOKENS, ...NO_END, ...fields }
  const body = () => ({ ...turn, messages: question('Tell me a story.') })
  await Promise.all(Array.from({ length: SLOTS }, () => streamChat(url, body())))
  return (SLOTS * TOKENS * 1000) / (performance.now() - startedAt)
}

/** Milliseconds from a request to the first piece of a model that another one has to go for. */
async function firstPiece(url, model) {
  const { times } = await streamChat(url, { model, messages: question('hi'), max_tokens: 2, ...NO_END })
  return times[0]
}

/** Milliseconds until its process is gone and its memory seen back. */
async function unload(url, model) {
  const startedAt = performance.now()
  const response = await fetch(`${url}/api/yard/unload`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model }),
  })
  if (!response.ok) throw new Error(await response.text())
  return performance.now() - startedAt
}

/** A model that was loaded or used a moment ago makes way for nobody yet; a spare worker gets ready meanwhile. */
async function thinking() {
  await new Promise((done) => setTimeout(done, 2200))
}

/** Through Modelyard ÷ bare llama-server, rounds interleaved; then swaps between two models of which one fits. */
export async function benchLlamaServer() {
  const model = {
    file: MODEL,
    engine: 'llama-server',
    slots: SLOTS,
    context: CONTEXT,
    keepAlive: -1,
    batchSize: 512,
    parking: false,
  }
  const server = await startServer({ a: model })
  const bare = await startBare()
  const contestants = [
    { url: server.url, fields: {} },
    { url: bare.url, fields: FROM_NOTHING },
  ]
  const measures = { decode: [[], [], decode], prefill: [[], [], prefill], parallel: [[], [], parallel] }
  try {
    for (const contestant of contestants) await decode(contestant)
    for (let round = 0; round < ROUNDS; round++)
      for (const measure of Object.values(measures))
        for (const [index, contestant] of contestants.entries())
          measure[index].push(await measure[2](contestant))
  } finally {
    bare.stop()
    await server.stop()
  }
  row('decode through Modelyard, tokens/s', spread(measures.decode[0], 0))
  row('decode ÷ bare llama-server', spread(ratios(measures.decode[0], measures.decode[1])), '≥ 0.98')
  row('prefill ÷ bare llama-server', spread(ratios(measures.prefill[0], measures.prefill[1])), '≥ 0.98')
  row(
    '4 in parallel ÷ bare llama-server',
    spread(ratios(measures.parallel[0], measures.parallel[1])),
    '≥ 0.97',
  )
  await benchSwaps('llama-server')
  await benchSwaps('node-llama-cpp')
  await benchSwaps('node-llama-cpp', 1)
}

/** Each time the other model has to go first. */
async function benchSwaps(engine, spareWorkers = 0) {
  console.log(`swaps of ${engine}${spareWorkers === 0 ? '' : ' with a spare worker'}`)
  const model = {
    file: MODEL,
    engine,
    slots: 1,
    context: CONTEXT,
    keepAlive: -1,
    parking: false,
  }
  const server = await startServer(
    { a: model, b: { ...model, context: CONTEXT + 256 } },
    { memory: { maxLargeModels: 1, smallModel: '1MiB' }, swap: { spareWorkers } },
  )
  try {
    await firstPiece(server.url, 'a')
    const [warm, stops, colds, swaps] = [[], [], [], []]
    for (let round = 0; round < ROUNDS; round++) {
      warm.push(await firstPiece(server.url, 'a'))
      stops.push(await unload(server.url, 'a'))
      await thinking()
      colds.push(await firstPiece(server.url, 'a'))
      for (const other of ['b', 'a']) {
        await thinking()
        swaps.push(await firstPiece(server.url, other))
      }
    }
    row('first piece of a loaded model, ms', spread(warm, 0))
    row('stop, ms', spread(stops, 0))
    row('first piece after a cold load, ms', spread(colds, 0))
    row('first piece after a swap, ms', spread(swaps, 0))
    row('swap ÷ (stop + cold load)', (median(swaps) / (median(stops) + median(colds))).toFixed(2), '≤ 1.1')
  } finally {
    await server.stop()
  }
}
