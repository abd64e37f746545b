import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { measureProcessTree } from '../../src/host/process-memory.ts'
import { copyOfTinyChat, descendants, openHome, serve, until, type Api } from '../yard/harness.ts'
import { begin, contextsFolder, goOn, PARKING_ENGINES } from './turns.ts'

/** Each writes one context and reads another; `npm run test:contexts` plays a thousand. */
const ROUNDS = Number(process.env['MODELYARD_CONTEXT_PARKS'] ?? 60)
/** Bytes by which memory may differ though nothing leaks: two heaps of Node grow before they are collected. A thousand contexts of these conversations are 200 MB. */
const NOISE = 60 * 1024 ** 2

interface Held {
  memory: number
  /** Files and sockets that are open. */
  open: number
}

async function heldBy(pid: number): Promise<Held> {
  const memory = await measureProcessTree(pid)
  const processes = [pid, ...descendants(pid)]
  const open = processes.reduce((sum, one) => sum + readdirSync(`/proc/${one}/fd`).length, 0)
  return { memory: memory?.private ?? 0, open }
}

/** Two conversations that take turns on the only slot. */
async function playRounds(api: Api, rounds: number): Promise<number> {
  const conversations = ['x', 'y'].map((name) => begin(name))
  let reused = 0
  for (let round = 0; round < rounds; round++) {
    const messages = conversations[round % 2] ?? []
    const { text = '', cachedTokens } = await api.chat(messages as never, { model: 'a', max_tokens: 4 })
    if (cachedTokens > 20) reused++
    conversations[round % 2] = messages.length > 20 ? messages.slice(0, 1) : goOn(messages, text)
  }
  return reused
}

describe.each(PARKING_ENGINES)(
  'R16: contexts that are parked and restored again and again in %s',
  (engine) => {
    it(`${ROUNDS} times leak neither memory nor files`, { timeout: 60_000 + ROUNDS * 500 }, async () => {
      const home = await openHome()
      const file = await copyOfTinyChat(home, 'a')
      await home.configure({
        models: { a: { engine, file, context: 1024, slots: 1 } },
        contexts: { parking: 'always' },
      })
      const server = await serve(home)
      const pid = server.program.pid
      await playRounds(server.api, Math.ceil(ROUNDS / 3))
      const before = await heldBy(pid)
      const reused = await playRounds(server.api, ROUNDS)
      const after = await heldBy(pid)
      console.log(JSON.stringify({ engine, rounds: ROUNDS, reused, before, after }))
      expect(reused).toBeGreaterThan(ROUNDS * 0.7)
      expect(after.memory - before.memory).toBeLessThan(NOISE)
      expect(after.open - before.open).toBeLessThan(10)
      // One of each conversation, once the disk has it: earlier turns go then.
      await until(async () => (await readdir(contextsFolder(home.path))).length <= 4)
      await server.stop()
      // Where a llama-server's contexts lie on their way to a file.
      expect(await readdir(join(home.path, 'slots')).catch(() => [])).toEqual([])
      for (const name of await readdir(contextsFolder(home.path)))
        expect(name).toMatch(/^context-\d+\.(slot|json)$/)
    })
  },
)
