import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { NO_USAGE } from '../../tasks/usage.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { ServerConnection } from './server-connection.ts'
import type { WorkerChild } from './worker-child.ts'
import { WORKER_DEADLINES } from './worker-deadlines.ts'
import type { WorkerExit } from './worker-exit.ts'
import { WorkerLife } from './worker-life.ts'

const KILLED: WorkerExit = { code: null, signal: 'SIGKILL', expected: false, logTail: [], model: 'm', pid: 7 }

interface Rig {
  life: WorkerLife
  die: () => void
  /** Ends the clearing away of its files. */
  clear: () => void
  told: string[]
}

function rig(): Rig {
  let die = (): void => undefined
  let clear = (): void => undefined
  const gone = new Promise<WorkerExit>((resolve) => (die = () => resolve(KILLED)))
  const cleared = new Promise<void>((resolve) => (clear = resolve))
  const child: Partial<WorkerChild> = { exited: gone }
  const connection: Partial<ServerConnection> = { close: () => Promise.resolve() }
  const life = new WorkerLife({
    engine: 'e',
    model: 'm',
    child: child as WorkerChild,
    connection: connection as ServerConnection,
    clock: new ManualClock(),
    deadlines: WORKER_DEADLINES,
    refused: () => expect.unreachable(),
    onGone: async () => await cleared,
  })
  const told: string[] = []
  void life.exited.then(() => told.push('exit'))
  return { life, die, clear, told }
}

async function* answer(): PartStream {
  yield await Promise.reject(new TypeError('fetch failed'))
  return { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }
}

const ALL_ELSE = async (): Promise<void> => await new Promise((settled) => setImmediate(settled))

describe('a process that ended (R11)', () => {
  it.each([
    ['a run', (life: WorkerLife) => life.stream(new AbortController().signal, answer).next()],
    ['a short piece of work', (life: WorkerLife) => life.during(undefined, () => Promise.resolve())],
  ])(
    'is told to %s after it was told to the pool: a repeat was sent to the dead process while its files were cleared away',
    async (_, work) => {
      const { life, die, clear, told } = rig()
      die()
      await ALL_ELSE()
      const working = work(life).catch((error: { code: string }) => told.push(error.code))
      await ALL_ELSE()
      expect(told).toEqual([])
      clear()
      await working
      expect(told).toEqual(['exit', 'worker_exited'])
    },
  )

  it('is told to what it ended in the middle after the pool, too', async () => {
    const { life, die, clear, told } = rig()
    const breaking = new Promise<never>((_, broken) =>
      setImmediate(() => broken(new TypeError('fetch failed'))),
    )
    const working = life
      .during(undefined, () => breaking)
      .catch((error: { code: string }) => told.push(error.code))
    die()
    await ALL_ELSE()
    await ALL_ELSE()
    expect(told).toEqual([])
    clear()
    await working
    expect(told).toEqual(['exit', 'worker_exited'])
  })
})
