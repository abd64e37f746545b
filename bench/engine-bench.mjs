import { availableParallelism } from 'node:os'
import { rendered, startBareEngine } from './bare-process.mjs'
import { repackedModel } from './repacked-model.mjs'
import { MODEL, startServer, streamChat } from './server.mjs'
import { ratios, row, spread } from './statistics.mjs'

const ROUNDS = Number(process.env.MODELYARD_BENCH_ROUNDS ?? 7)
const COUNT = 128
const CONTEXT = 2048
const CORES = availableParallelism()
/** What a plan has: a core is left to the server. Prompts take all cores while nothing else computes. */
const THREADS = Math.max(1, CORES - 1)
/** Tokens that SmolLM2 in Q4_1 evaluates here on two cores in less than 200 ms: what may not be interrupted is no longer than that. */
const SHORT_PIECE = 32
const STORIES = ['a dragon', 'a lighthouse', 'a clockmaker', 'a river'].map(
  (hero) => `Write a long story about ${hero}.`,
)

/** About a thousand tokens that no earlier round has seen. */
function longText(round, words) {
  const list = Array.from({ length: words }, (_, index) => `word${(index * 7919 + round * 104_729) % 9973}`)
  return `Round ${round}. ${list.join(' ')} What was the first word?`
}

/** The same model behind the server and alone in a process, warm both. */
async function startPair(model) {
  const server = await startServer({
    m: { file: model, context: CONTEXT, slots: 4, system: '', device: { gpu: false } },
  })
  const bare = await startBareEngine(model, { threads: THREADS, contextSize: CONTEXT })
  const wide = await startBareEngine(model, { threads: CORES, contextSize: CONTEXT })
  const chat = (text, count) =>
    streamChat(server.url, {
      model: 'm',
      temperature: 0,
      max_tokens: count,
      messages: [{ role: 'user', content: text }],
    })
  await chat('Warm up.', 8)
  for (const each of [bare, wide]) await each.ask([rendered('Warm up.')], 8)
  return {
    bare,
    wide,
    chat,
    async stop() {
      bare.stop()
      wide.stop()
      await server.stop()
    },
  }
}

async function decode({ bare, chat }, round) {
  const text = `${STORIES[round % 4]} Chapter ${round}.`
  const alone = (await bare.ask([rendered(text)], COUNT)).answers[0]
  const { times, usage } = await chat(text, COUNT)
  const ours = (usage.completion_tokens - 1) / (times.at(-1) - times[0])
  return [ours * 1000, ((alone.made - 1) / (alone.total - alone.first)) * 1000]
}

async function fourStreams({ bare, chat }, round) {
  const texts = STORIES.map((story) => `${story} Part ${round}.`)
  const four = await bare.ask(texts.map(rendered), COUNT)
  const startedAt = performance.now()
  const ours = await Promise.all(texts.map((each) => chat(each, COUNT)))
  const total = performance.now() - startedAt
  const made = ours.reduce((sum, { usage }) => sum + usage.completion_tokens, 0)
  return [(made / total) * 1000, (four.answers.reduce((sum, each) => sum + each.made, 0) / four.total) * 1000]
}

/** @param alone the engine alone, on so many threads @param piece tokens that it evaluates at once; default: a whole batch */
async function prefill({ chat }, engine, round, piece) {
  const words = 180
  const long = longText(round, words)
  const alone = (await engine.ask([rendered(long)], 1, piece)).answers[0]
  const ours = await chat(longText(1000 + round, words), 1)
  return [(ours.usage.prompt_tokens / ours.times[0]) * 1000, (alone.promptTokens / alone.first) * 1000]
}

async function measure(name, round, target) {
  const pairs = []
  for (let count = 0; count < ROUNDS; count++) pairs.push(await round(count))
  const [ours, theirs] = [0, 1].map((index) => pairs.map((pair) => pair[index]))
  row(`${name}: HTTP`, spread(ours, 1))
  row(`${name}: engine alone`, spread(theirs, 1))
  row(`${name}: ratio`, spread(ratios(ours, theirs)), target)
}

/** Decode and prefill of one stream, and four streams at once, through HTTP against the engine alone; rounds interleaved. */
export async function benchEngine() {
  const smollm2 = await startPair(MODEL)
  await measure('decode, 1 stream, tok/s', async (round) => decode(smollm2, round), '≥ 0.95')
  await measure('4 streams at once, tok/s', async (round) => fourStreams(smollm2, round), '≥ 0.95')
  const own = async (round) => prefill(smollm2, smollm2.bare, round)
  await measure('prefill in pieces ≤ 200 ms, against 512 at once on its threads', own, '≥ 0.95')
  const all = async (round) => prefill(smollm2, smollm2.wide, round + ROUNDS)
  await measure('   against 512 at once on all cores', all)
  const pieces = async (round) => prefill(smollm2, smollm2.wide, round + 2 * ROUNDS, SHORT_PIECE)
  await measure('   against the same pieces on all cores', pieces, '≥ 0.95')
  await smollm2.stop()
  const repacked = await startPair(await repackedModel())
  const fast = async (round) => prefill(repacked, repacked.wide, round)
  await measure('prefill, same shape in Q4_0, against 512 at once on all cores', fast, '≥ 0.95')
  await repacked.stop()
}
