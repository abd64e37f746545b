// The worker's program: one process, one engine, one model. Started by WorkerProcess; see protocol.ts for what is said.
// Static imports stay few and small: a cold worker's start is part of the first token's time.
import { pathToFileURL } from 'node:url'
import { SystemClock } from '../../base/clock.ts'
import { visibleDevices } from '../../host/visible-devices.ts'
import type { Engine, LoadPlan, LoadProgress } from '../engine.ts'
import { Channel } from './channel.ts'
import { HostedModel } from './hosted-model.ts'
import { plainError } from './plain-error.ts'
import type { FromWorker, ToWorker } from './protocol.ts'

type EngineOptions = Record<string, unknown>

/** What a `module:` engine's file must export. */
export interface EngineModule {
  createEngine: (options: EngineOptions) => Engine | Promise<Engine>
}

const ENGINES: Record<string, (options: EngineOptions) => Promise<Engine>> = {
  'node-llama-cpp': async (options) => {
    const { NodeLlamaCppEngine } = await import('../node-llama-cpp/node-llama-cpp-engine.ts')
    return new NodeLlamaCppEngine(options)
  },
  transformers: async (options) => {
    const { TransformersEngine } = await import('../transformers/transformers-engine.ts')
    return new TransformersEngine(options)
  },
  speech: async (options) => {
    const { SpeechEngine } = await import('../speech/speech-engine.ts')
    return new SpeechEngine(options)
  },
  scripted: async () => {
    const { ScriptedEngine } = await import('../scripted/scripted-engine.ts')
    return new ScriptedEngine({ clock, crash: () => process.exit(1) })
  },
}

const PARENT_CHECK = 500
const clock = new SystemClock()
const parent = Number(process.env['MODELYARD_PARENT_PID'] ?? process.ppid)
const loading = new AbortController()
const channel = new Channel(write)
let engine: Promise<Engine> | undefined
let hosted: HostedModel | undefined

function write(messages: FromWorker[], written: () => void): void {
  try {
    if (process.connected) process.send?.(messages, undefined, undefined, written)
  } catch (error) {
    // An engine made what cannot be cloned: better dead with a reason than silent.
    console.error(error)
    process.exit(1)
  }
}

async function construct(name: string, options: EngineOptions): Promise<Engine> {
  if (name.startsWith('module:')) {
    const module = (await import(pathToFileURL(name.slice(7)).href)) as EngineModule
    return module.createEngine(options)
  }
  const make = ENGINES[name]
  if (make === undefined) throw new Error(`No engine of the name "${name}" can be run in a worker.`)
  return make(options)
}

let toldFraction = 0

/** Engines report each tensor: what moved less than a hundredth is not worth a message. The server knows that we started. */
function sendProgress(progress: LoadProgress): void {
  if (progress.stage === 'starting') return
  if (progress.stage === 'loading') {
    if (progress.fraction < 1 && Math.abs(progress.fraction - toldFraction) < 0.01) return
    toldFraction = progress.fraction
  }
  channel.send({ type: 'progress', progress })
}

async function load(plan: LoadPlan): Promise<void> {
  try {
    if (engine === undefined) throw new Error('A model was to be loaded before an engine was named.')
    const made = await engine
    // Before the library is started that would take every device it sees.
    Object.assign(process.env, visibleDevices(plan.footprint))
    const model = await made.load(plan, { signal: loading.signal, onProgress: sendProgress })
    void model.exited.then(({ expected }) => expected || process.exit(1))
    hosted = new HostedModel(model, (message, sent) => channel.send(message, sent), clock)
    const { stateIdentity, savesWhileAnswering = false } = model
    const saving = stateIdentity === undefined ? {} : { stateIdentity, savesWhileAnswering }
    channel.send({ type: 'loaded', ...saving })
  } catch (error) {
    channel.send({ type: 'load-failed', error: plainError(error, 'model_load_failed') }, () =>
      process.exit(0),
    )
  }
}

async function unload(): Promise<void> {
  loading.abort()
  await hosted?.unload()
  process.exit(0)
}

function receive(message: ToWorker): void {
  if (message.type === 'construct') {
    engine = construct(message.engine, message.options)
    // Whatever fails here, the load will say.
    engine.then((made) => made.prepare?.()).catch(() => undefined)
  } else if (message.type === 'load') void load(message.plan)
  else if (message.type === 'unload') void unload()
  else if (message.type === 'ping') answerPing(message.id)
  else hosted?.receive(message)
}

function answerPing(id: number): void {
  if (hosted === undefined) channel.send({ type: 'pong', id })
  else hosted.answerPing(id)
}

/** The server is gone: nobody needs this process or anything it started. Nothing here is worth a tidy end. */
function endAtOnce(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}

function watchParent(): void {
  if (process.ppid !== parent && process.platform !== 'win32') endAtOnce()
  clock.setTimer(PARENT_CHECK, watchParent)
}

process.on('message', receive)
process.on('disconnect', endAtOnce)
process.stdin.on('end', endAtOnce).on('error', endAtOnce).resume()
watchParent()
