import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ENGINES, MODEL } from '../server.mjs'
import { Conversation } from './conversation.mjs'

const READY_EACH = 5

async function timed(work) {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))

/**
 * By hand, what a swap costs: one `llama-server` without anything of Modelyard, with the flags that Modelyard gives it, restarted for each
 * model, its slot saved before and restored after. Each step waits for the one before it.
 */
export class PlainServer {
  #child
  #url
  #folder = mkdtempSync(join(tmpdir(), 'plain-server-'))
  #context

  constructor(context) {
    this.#context = context
  }

  get url() {
    return this.#url
  }

  /** @returns milliseconds until its model is loaded */
  start() {
    return timed(async () => {
      const threads = String(Math.max(1, availableParallelism() - 1))
      const args = [
        ['-m', MODEL, '--host', '127.0.0.1', '--port', '0', '-c', String(this.#context), '-np', '1'],
        ['-b', '512', '-ub', '512', '-t', threads, '-tb', String(availableParallelism()), '-ngl', '0'],
        ['--cache-ram', '0', '--no-warmup', '--no-webui', '--slot-save-path', this.#folder],
      ].flat()
      this.#child = spawn(join(ENGINES, 'llama-server/llama-server'), args, {
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      this.#url = await this.#listening()
      while (!(await fetch(`${this.#url}/health`)).ok) await pause(READY_EACH)
    })
  }

  #listening() {
    return new Promise((found, failed) => {
      let text = ''
      for (const output of [this.#child.stdout, this.#child.stderr]) {
        output.on('data', (data) => {
          text += data
          const match = /http:\/\/127\.0\.0\.1:\d+/.exec(text)
          if (match !== null) found(match[0])
        })
      }
      this.#child.once('exit', (code) => failed(new Error(`llama-server ended with ${code}`)))
    })
  }

  /** @returns milliseconds until the process is gone */
  stop() {
    if (this.#child === undefined) return 0
    return timed(async () => {
      const gone = new Promise((ended) => this.#child.once('exit', ended))
      this.#child.kill('SIGTERM')
      await gone
    })
  }

  /** @param action `save` or `restore` @returns milliseconds */
  slot(action, name) {
    return timed(async () => {
      const response = await fetch(`${this.#url}/slots/0?action=${action}`, {
        method: 'POST',
        body: JSON.stringify({ filename: `${name}.bin` }),
      })
      if (!response.ok) throw new Error(await response.text())
      await response.text()
    })
  }

  async close() {
    await this.stop()
    rmSync(this.#folder, { recursive: true })
  }
}

/** Two conversations, each with a model of its own, on a plain server that is restarted for each turn. */
export class ByHand {
  #server
  #conversations
  #last
  #saves

  /** @param saves false: what is lost with the server is computed again */
  constructor(openings, context, saves) {
    this.#server = new PlainServer(context)
    this.#saves = saves
    const more = { id_slot: 0, cache_prompt: true }
    this.#conversations = openings.map((opening) => new Conversation('', 'm', opening, { more }))
  }

  /** One turn of one of them. @returns first: all parts together; the parts in milliseconds */
  async turn(index, text) {
    const conversation = this.#conversations[index]
    const isKnown = text !== undefined && this.#saves
    const parts = { save: 0, stop: 0, load: 0, restore: 0, answer: 0 }
    if (this.#last !== undefined) {
      if (this.#saves) parts.save = await this.#server.slot('save', `c${this.#last}`)
      parts.stop = await this.#server.stop()
    }
    parts.load = await this.#server.start()
    conversation.url = this.#server.url
    if (isKnown) parts.restore = await this.#server.slot('restore', `c${index}`)
    this.#last = index
    const { first, ...turn } = await conversation.turn(text)
    parts.answer = first
    return { ...turn, parts, first: Object.values(parts).reduce((sum, part) => sum + part, 0) }
  }

  async close() {
    await this.#server.close()
  }
}
