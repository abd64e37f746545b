// A real engine without a model, for tests of the worker: it does what its plan's options and its prompts (JSON) tell it, also
// the bad things that native code does. Loaded into a worker with `module:`.
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const NOTHING = { promptTokens: 1, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }

function block(milliseconds) {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

class ObedientModel {
  constructor(plan, options) {
    this.plan = plan
    this.options = options
    this.active = 0
    this.made = 0
    this.exited = new Promise((resolve) => {
      this.leave = resolve
    })
    if (options.parks) {
      this.stateIdentity = 'obedient'
      this.saveSlot = async (slot, path) => ({ tokens: slot, bytes: path.length })
      this.restoreSlot = async (slot) => slot === 0
    }
  }

  async *run(task, { signal, slot, keptPrefix }) {
    const order = JSON.parse(task.prompt ?? '{}')
    this.active++
    try {
      if (order.refuse) throw Object.assign(new Error('refused'), { code: 'refused' })
      yield { type: 'started', promptTokens: 1, cachedTokens: keptPrefix }
      if (order.grows) globalThis.grown = Buffer.alloc(order.grows, 1)
      for (let left = order.floods ?? 0; left > 0; left -= 1e6)
        writeSync(2, 'x'.repeat(99).concat('\n').repeat(10_000))
      if (order.unclonable) yield { type: 'text', text: () => undefined }
      if (order.vector) yield { type: 'vector', index: 0, vector: Float32Array.from(order.vector) }
      for (let made = 0; made < (order.parts ?? 0); made++) {
        if (order.every !== undefined) await sleep(order.every)
        if (order.exitAt === made) process.exit(order.exitCode)
        if (order.dieAt === made) process.kill(process.pid, order.signal ?? 'SIGKILL')
        if (order.blockAt === made) block(order.block)
        if (!order.ignoreAbort) signal.throwIfAborted()
        this.lastProgress = performance.now()
        this.made++
        yield { type: 'text', text: order.text ?? `${made} ` }
      }
      while (order.hang) await sleep(10, undefined, order.ignoreAbort ? {} : { signal })
      const usage = { ...NOTHING, completionTokens: order.parts ?? 0 }
      return { finishReason: 'stop', stopSequence: `slot ${slot}`, usage, timings: { prefill: 0, decode: 0 } }
    } finally {
      this.active--
    }
  }

  async countTokens(task, signal) {
    const order = JSON.parse(task.prompt ?? '{}')
    if (order.count === 'active') return this.active
    if (order.count === 'made') return this.made
    if (order.sleep) await sleep(order.sleep, undefined, { signal })
    return task.prompt.length
  }

  async warmUp(signal) {
    if (this.options.warmUpHangs) await sleep(1e6, undefined, { signal })
  }

  async memory() {
    return { ram: { private: process.memoryUsage().rss, shared: 0 }, 'gpu:0': { private: 5, shared: 0 } }
  }

  async ping() {}

  async unload() {
    if (this.options.unloadHangs) await sleep(1e6)
    if (this.options.unloadTakes) await sleep(this.options.unloadTakes)
    this.leave({ expected: true, reason: 'unloaded', logTail: [] })
  }
}

async function loadOrMisbehave(options, { signal, onProgress }) {
  if (options.say) console.error(options.say)
  for (let left = options.floods ?? 0; left > 0; left -= 1e6) writeSync(2, 'x'.repeat(1e6))
  if (options.ignoreSigterm) process.on('SIGTERM', () => undefined)
  if (options.grandchild) spawn('sleep', ['1000'], { stdio: 'inherit' })
  if (options.progress) onProgress({ stage: 'loading', fraction: options.progress })
  if (options.killedBy) process.kill(process.pid, options.killedBy)
  if (options.exitCode !== undefined) process.exit(options.exitCode)
  if (options.never) await sleep(1e6, undefined, { signal })
  if (options.deaf) await sleep(1e6)
  if (options.block) block(options.block)
  if (options.hold) globalThis.held = Buffer.alloc(options.hold, 1)
  if (options.fails) throw Object.assign(new Error('the file is damaged'), options.fails)
  if (options.diesAfter !== undefined) setTimeout(() => process.exit(3), options.diesAfter)
}

export function createEngine(engineOptions) {
  return {
    name: 'obedient',
    async load(plan, loading) {
      const options = { ...engineOptions, ...plan.spec.engineOptions }
      await loadOrMisbehave(options, loading)
      return new ObedientModel(plan, options)
    },
  }
}
