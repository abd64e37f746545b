// The engine alone in one process, driven at the low level: what everything above it is compared with. Talks over IPC.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [modelPath, enginesDirectory, threads, sequences, contextSize] = process.argv.slice(2)
const require = createRequire(`${enginesDirectory}/node-llama-cpp/package.json`)
const { getLlama } = await import(pathToFileURL(require.resolve('node-llama-cpp')).href)
const llama = await getLlama({
  gpu: false,
  build: 'never',
  maxThreads: Number(threads),
  logLevel: 'error',
  progressLogs: false,
})
const model = await llama.loadModel({ modelPath })
const context = await model.createContext({
  contextSize: Number(contextSize),
  sequences: Number(sequences),
  threads: Number(threads),
})
const slots = Array.from({ length: Number(sequences) }, () => context.getSequence())

/** Greedy; text is made of every token, as a server must. With `piece` the prompt is evaluated in pieces of so many tokens. */
async function generate(slot, prompt, count, piece = Infinity) {
  await slot.clearHistory()
  const tokens = model.tokenize(prompt, true)
  const startedAt = performance.now()
  let done = 0
  while (tokens.length - done > piece) {
    await slot.evaluateWithoutGeneratingNewTokens(tokens.slice(done, done + piece))
    done += piece
  }
  let first
  let made = 0
  let text = ''
  for await (const token of slot.evaluate(tokens.slice(done), { temperature: 0 })) {
    first ??= performance.now() - startedAt
    if (model.isEogToken(token)) break
    text += model.detokenize([token])
    if (++made >= count) break
  }
  return { promptTokens: tokens.length, made, first, total: performance.now() - startedAt, text }
}

async function answerAll({ prompts, count, piece }) {
  const startedAt = performance.now()
  const answers = await Promise.all(
    prompts.map((prompt, index) => generate(slots[index], prompt, count, piece)),
  )
  process.send({ answers, total: performance.now() - startedAt })
}

process.on('message', (asked) => void answerAll(asked))
process.on('disconnect', () => process.exit(0))
process.send('ready')
