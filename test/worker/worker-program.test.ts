import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { workerEntry } from './worker-fixtures.ts'

// The worker program alone, without the kernel's parent-death signal: its own watch must do where that signal does not exist.
const children: ChildProcess[] = []

function startBare(parent: number = process.pid): {
  child: ChildProcess
  exit: Promise<NodeJS.Signals | null>
} {
  const child = spawn(process.execPath, [workerEntry()], {
    detached: true,
    stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    env: { PATH: process.env['PATH'], MODELYARD_PARENT_PID: String(parent) },
  })
  children.push(child)
  return { child, exit: new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal))) }
}

async function answersPing(child: ChildProcess): Promise<void> {
  const answer = new Promise((resolve) => child.once('message', resolve))
  child.send({ type: 'ping', id: 1 })
  expect(await answer).toEqual([{ type: 'pong', id: 1 }])
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

describe('a worker whose server is gone ends itself (R15)', () => {
  it('at the end of its standard input', async () => {
    const { child, exit } = startBare()
    await answersPing(child)
    child.stdin?.destroy()
    expect(await exit).toBe('SIGKILL')
  })

  it('when the channel is closed', async () => {
    const { child, exit } = startBare()
    await answersPing(child)
    child.disconnect()
    expect(await exit).toBe('SIGKILL')
  })

  it('when its parent is another one than it was started by', async () => {
    const { exit } = startBare(1)
    expect(await exit).toBe('SIGKILL')
  })

  it('and not before', async () => {
    const { child, exit } = startBare()
    await answersPing(child)
    const first = await Promise.race([
      exit,
      new Promise((resolve) => void setTimeout(resolve, 1500, 'alive')),
    ])
    expect(first).toBe('alive')
    await answersPing(child)
  })
})

/** Inodes of sockets that somebody may connect to, of the whole machine. */
function listeningSockets(): Set<string> {
  const lines = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'latin1').split('\n'))
  const LISTEN = '0A'
  return new Set(
    lines
      .map((line) => line.trim().split(/\s+/))
      .flatMap((fields) => (fields[3] === LISTEN ? (fields[9] ?? []) : [])),
  )
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).flatMap(
    (name) => /^socket:\[(\d+)\]$/.exec(linkOf(join(folder, name)))?.[1] ?? [],
  )
}

/** Of the files that a process has open, one is the list of them itself, and gone by now. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

describe.runIf(process.platform === 'linux')('a worker and ports', () => {
  it('F22: opens none, so that nobody else’s server can answer in its place', async () => {
    const { child } = startBare()
    await answersPing(child)
    const listening = listeningSockets()
    const sockets = socketsOf(child.pid ?? 0)
    expect(sockets.length).toBeGreaterThan(0)
    expect(sockets.filter((socket) => listening.has(socket))).toEqual([])
    // Such a port would be seen.
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const now = listeningSockets()
    expect(socketsOf(process.pid).some((socket) => now.has(socket))).toBe(true)
    server.close()
  })
})
