import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ENGINES, MODEL, ROOT, startServer, streamChat } from './server.mjs'
import { ratios, row, spread } from './statistics.mjs'

const ROUNDS = 7
const COUNT = 96
const CONTEXT = 2048
const STORIES = ['a dragon', 'a lighthouse', 'a clockmaker', 'a river'].map(
  (hero) => `Write a long story about ${hero}.`,
)

function rendered(text) {
  return `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`
}

/** About a thousand tokens that no earlier round has seen. */
function longText(round) {
  const words = Array.from({ length: 700 }, (_, index) => `word${(index * 7919 + round * 104_729) % 9973}`)
  return `Round ${round}. ${words.slice(0, 250).join(' ')} What was the first word?`
}

async function startBare(threads) {
  const child = fork(join(ROOT, 'bench/bare-engine.mjs'), [MODEL, ENGINES, threads, 4, CONTEXT].map(String))
  await once(child, 'message')
  return {
    async ask(prompts, count) {
      child.send({ prompts, count })
      const [answer] = await once(child, 'message')
      return answer
    },
    stop: () => child.disconnect(),
  }
}

async function chat(url, text, count) {
  return streamChat(url, {
    model: 'm',
    temperature: 0,
    max_tokens: count,
    messages: [{ role: 'user', content: text }],
  })
}

function decodeSpeed(times) {
  return ((times.length - 1) / (times.at(-1) - times[0])) * 1000
}

/** Decode and prefill of one stream, and four streams at once, through HTTP against the engine alone; rounds interleaved. */
export async function benchEngine() {
  const threads = 1
  const server = await startServer({
    m: { file: MODEL, context: CONTEXT, slots: 4, system: '', device: { threads, gpu: false } },
  })
  const bare = await startBare(threads)
  const seen = { decode: [[], []], prefill: [[], []], four: [[], []] }
  await chat(server.url, 'Warm up.', 8)
  await bare.ask([rendered('Warm up.')], 8)
  for (let round = 0; round < ROUNDS; round++) {
    const text = `${STORIES[round % 4]} Chapter ${round}.`
    const alone = (await bare.ask([rendered(text)], COUNT)).answers[0]
    const ours = await chat(server.url, text, COUNT)
    seen.decode[1].push(((alone.made - 1) / (alone.total - alone.first)) * 1000)
    seen.decode[0].push(decodeSpeed(ours.times))

    const long = longText(round)
    const bareLong = (await bare.ask([rendered(long)], 1)).answers[0]
    const oursLong = await chat(server.url, long, 1)
    seen.prefill[1].push((bareLong.promptTokens / bareLong.first) * 1000)
    seen.prefill[0].push((oursLong.usage.prompt_tokens / oursLong.times[0]) * 1000)

    const texts = STORIES.map((story) => `${story} Part ${round}.`)
    const four = await bare.ask(texts.map(rendered), COUNT)
    const startedAt = performance.now()
    const oursFour = await Promise.all(texts.map((each) => chat(server.url, each, COUNT)))
    const total = performance.now() - startedAt
    seen.four[1].push((four.answers.reduce((sum, { made }) => sum + made, 0) / four.total) * 1000)
    seen.four[0].push((oursFour.reduce((sum, { usage }) => sum + usage.completion_tokens, 0) / total) * 1000)
  }
  bare.stop()
  await server.stop()
  report('decode, 1 stream, tok/s', seen.decode)
  report('prefill, tok/s', seen.prefill)
  report('4 streams at once, total tok/s', seen.four)
}

function report(name, [ours, theirs]) {
  row(`${name}: HTTP`, spread(ours, 1))
  row(`${name}: engine alone`, spread(theirs, 1))
  row(`${name}: ratio`, spread(ratios(ours, theirs)), '≥ 0.95')
}
