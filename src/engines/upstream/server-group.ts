import { abortError, onAbort } from '../../base/abort.ts'
import { sleep, type Clock } from '../../base/clock.ts'
import { createId } from '../../base/ids.ts'
import { freePorts } from '../../host/free-ports.ts'
import type { MeasuredMemory } from '../../host/memory.ts'
import { addMemory, measureProcessTree } from '../../host/process-memory.ts'
import type { ExitReport } from '../engine.ts'
import { WorkerChild } from '../supervision/worker-child.ts'
import { WORKER_DEADLINES } from '../supervision/worker-deadlines.ts'
import { describeExit, loadEndedByExit, workerExited, type WorkerExit } from '../supervision/worker-exit.ts'
import { Connection } from './connection.ts'
import type { StartOptions } from './start-options.ts'

/** Milliseconds between two looks whether the server answers. */
const LOOK_INTERVAL = 250
/** Milliseconds that such a look may take. */
const LOOK_PATIENCE = 5000
/** Looks between two measurements of what it holds. */
const MEASURE_EACH = 8
/** It goes on when it holds so much more than before: imports, weights and caches come in larger steps. */
const GROWTH = 1.01

export interface ServerGroupOptions {
  model: string
  start: StartOptions
  clock: Clock
  recordsDirectory?: string | undefined
  logDirectory?: string | undefined
  signal: AbortSignal
  /** Called with the bytes that its processes hold, each time they have become more: it has not answered yet, but goes on. */
  onGrowth?: (bytes: number) => void
}

/**
 * A server that runs for one model, as one process or several that work together (`--nnodes` of vLLM): all are started, it is ready when the
 * first one answers, and the end of any is the end of all.
 */
export class ServerGroup {
  /** Beginning of its API. */
  readonly url: string
  /** What it was told to want of its clients; absent = nothing. */
  readonly key: string | undefined
  /** Settles, never rejects, when all processes are gone. */
  readonly exited: Promise<ExitReport>
  readonly #children: readonly WorkerChild[]
  #first: WorkerExit | undefined
  #stopping = false

  private constructor(url: string, key: string | undefined, children: readonly WorkerChild[]) {
    this.url = url
    this.key = key
    this.#children = children
    for (const child of children) void child.exited.then((exit) => this.#lost(exit))
    this.exited = Promise.all(children.map((child) => child.exited)).then(() => this.#report())
  }

  /** Starts all and waits until the first answers; nothing stays when that fails. @throws ModelyardError `model_load_failed`, `aborted` */
  static async start(options: ServerGroupOptions): Promise<ServerGroup> {
    const { start, model, clock, signal } = options
    const { count = 1 } = start
    const [master = 0, ...ports] = await freePorts(1 + count)
    const key = createId('')
    const children = Array.from({ length: count }, (_, rank) => {
      const fill = (text: string): string =>
        filled(text, { port: ports[rank] ?? 0, master, rank, count, key })
      const { followerArguments = [] } = start
      const [command = '', ...args] = [...start.command, ...(rank > 0 ? followerArguments : [])].map(fill)
      return new WorkerChild({
        command,
        args,
        clock,
        label: count === 1 ? model : `${model}.${rank}`,
        recordsDirectory: options.recordsDirectory,
        logDirectory: options.logDirectory,
        environment: Object.fromEntries(
          Object.entries(start.environment ?? {}).map(([name, value]) => [name, fill(value)]),
        ),
      })
    })
    const isKeyed = JSON.stringify(start).includes('{key}')
    const group = new ServerGroup(`http://127.0.0.1:${ports[0]}/v1`, isKeyed ? key : undefined, children)
    const off = onAbort(signal, () => group.#kill('its load was given up'))
    try {
      await group.#untilReady(options)
      return group
    } catch (error) {
      group.#kill('its load has failed')
      await group.exited
      throw signal.aborted ? abortError(signal) : error
    } finally {
      off()
    }
  }

  /** Of the one that serves. */
  get pid(): number | undefined {
    return this.#children[0]?.pid
  }

  get logPath(): string | undefined {
    return this.#children[0]?.logPath
  }

  /** Why it is gone, for runs that it had; undefined while it lives. */
  get failure(): Error | undefined {
    return this.#first === undefined ? undefined : workerExited(this.#first)
  }

  /** What all of them hold of this machine's memory; undefined where that cannot be read. */
  async memory(): Promise<MeasuredMemory | undefined> {
    const pids = this.#children.flatMap(({ pid }) => pid ?? [])
    const parts = await Promise.all(pids.map((pid) => measureProcessTree(pid)))
    const known = parts.filter((part) => part !== undefined)
    return known.length === 0 ? undefined : known.reduce(addMemory)
  }

  /** SIGTERM to all of their groups, SIGKILL after a grace. Calling it twice is harmless. */
  async stop(): Promise<void> {
    this.#stopping = true
    const grace = WORKER_DEADLINES.terminate
    await Promise.all(this.#children.map((child) => child.process.stop({ grace })))
    await this.exited
  }

  /** One fate: what is left of it has nobody to work with. */
  #lost(exit: WorkerExit): void {
    this.#first ??= exit
    this.#kill(`another process of "${exit.model}" ${describeExit(exit)}`)
  }

  #kill(reason: string): void {
    if (this.#stopping) return
    for (const child of this.#children) if (child.alive) child.kill(reason)
  }

  #report(): ExitReport {
    const exit = this.#first
    if (exit === undefined) return { expected: true, reason: 'it was unloaded.', logTail: [] }
    const expected = this.#stopping && exit.ended === undefined
    return { expected, reason: `The worker ${describeExit(exit)}.`, logTail: exit.logTail }
  }

  async #untilReady({ clock, signal, onGrowth }: ServerGroupOptions): Promise<void> {
    const connection = new Connection(clock)
    let most = 0
    try {
      for (let look = 1; !(await this.#listsModels(connection, signal)); look++) {
        signal.throwIfAborted()
        if (this.#first !== undefined) throw loadEndedByExit(this.#first)
        if (onGrowth !== undefined && look % MEASURE_EACH === 0) most = await this.#grown(most, onGrowth)
        await sleep(clock, LOOK_INTERVAL, signal)
      }
    } finally {
      await connection.close()
    }
  }

  async #grown(most: number, onGrowth: (bytes: number) => void): Promise<number> {
    const held = await this.memory()
    const bytes = (held?.private ?? 0) + (held?.shared ?? 0)
    if (bytes <= most * GROWTH) return most
    onGrowth(bytes)
    return bytes
  }

  async #listsModels(connection: Connection, signal: AbortSignal): Promise<boolean> {
    const { url, key } = this
    try {
      const reply = await connection.send({
        url: `${url}/models`,
        key,
        signal,
        silence: LOOK_PATIENCE,
      })
      await reply.text()
      return reply.status === 200
    } catch {
      return false
    }
  }
}

/** `{port}`, `{master}`, `{rank}`, `{count}` and `{key}` in an argument or a variable. */
function filled(text: string, values: Readonly<Record<string, number | string>>): string {
  return text.replaceAll(/\{(port|master|rank|count|key)\}/g, (_, name: string) => String(values[name]))
}
