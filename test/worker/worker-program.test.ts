import { spawn, type ChildProcess } from 'node:child_process'
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
