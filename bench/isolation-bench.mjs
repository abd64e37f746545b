import { MODEL, startServer, streamChat } from './server.mjs'
import { repackedModel } from './repacked-model.mjs'
import { ratios, row, spread } from './statistics.mjs'

const ROUNDS = 7
const TOKENS = 160

async function order(url, what, model) {
  const response = await fetch(`${url}/api/yard/${what}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model }),
  })
  await response.text()
}

/** What others do to a model that answers, again and again until told to stop. @returns how often it was done */
const DISTURBANCES = {
  'loads and unloads': async (url) => {
    await order(url, 'load', 'b')
    await order(url, 'unload', 'b')
  },
  'fails to load': async (url) => {
    await order(url, 'load', 'broken')
    await new Promise((resolve) => setTimeout(resolve, 100))
  },
}

/** Tokens per second of one answer, from its first piece to its last. */
async function speed(url) {
  const { times, usage } = await streamChat(url, {
    model: 'a',
    temperature: 0,
    max_tokens: TOKENS,
    messages: [{ role: 'user', content: 'Tell me a long story about a river.' }],
  })
  return (usage.completion_tokens - 1) / ((times.at(-1) - times[0]) / 1000)
}

/** The speed of A's streams beside another model's loads, unloads and failures, and without them, rounds interleaved. */
export async function benchIsolation() {
  const server = await startServer({
    a: { file: MODEL, context: 2048, slots: 2, keepAlive: -1 },
    b: { file: await repackedModel(), context: 8192, slots: 4, keepAlive: -1 },
    broken: { engine: 'scripted', isolation: 'worker', failLoad: { class: 'bad_file', message: 'no model' } },
  })
  await speed(server.url)
  for (const [name, disturb] of Object.entries(DISTURBANCES)) {
    const [beside, alone] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await speed(server.url))
      const done = new AbortController()
      const disturbing = (async () => {
        while (!done.signal.aborted) await disturb(server.url)
      })()
      beside.push(await speed(server.url))
      done.abort()
      await disturbing
    }
    row(`A alone, tokens/s`, spread(alone, 1))
    row(`A while B ${name}, tokens/s`, spread(beside, 1))
    row(`A while B ${name}: ratio`, spread(ratios(beside, alone)), '≥ 0.67')
  }
  await server.stop()
}
