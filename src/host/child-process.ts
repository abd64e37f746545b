import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import { createId } from '../base/ids.ts'
import { childEnvironment } from './child-environment.ts'
import { findExecutable } from './executables.ts'
import { keptAlive } from './keep-alive.ts'
import { LineSplitter } from './line-splitter.ts'
import { LogFile } from './log-file.ts'
import { LogTail } from './log-tail.ts'
import { boundToParent } from './parent-death.ts'
import { identityOf, type ProcessIdentity } from './process-identity.ts'
import { groupExists, processTree, signalGroup, signalProcess, waitForGroupEnd } from './process-tree.ts'

/** Milliseconds that pipes may stay open after the exit, and that killed members of the group may need to vanish. */
const PIPES_LINGER = 250
const GROUP_LINGER = 2000
/** Linux ends the worker before the server when memory runs out (BR-69); 0 is neutral, 1000 is first. */
const OUT_OF_MEMORY_SCORE = '600'

/** Names of the variables by which a child knows its own nonce and its parent. */
export const NONCE_VARIABLE = 'MODELYARD_WORKER_NONCE'
const PARENT_VARIABLE = 'MODELYARD_PARENT_PID'

export interface ChildOptions {
  /** Absolute path, or a name found on PATH. Never a shell line. */
  command: string
  args: readonly string[]
  clock: Clock
  /** Messages both ways as structured clones (a Node program only). Default false. */
  ipc?: boolean
  /** Added to what {@link childEnvironment} passes. */
  environment?: Record<string, string>
  directory?: string
  /** Where stdout and stderr are kept besides the tail. Absent = nowhere. */
  log?: { directory: string; name: string }
  /** Each line of stdout and stderr as it comes. */
  onLine?: (line: string) => void
}

/** How a child ended; `error` when it could not be started at all. */
export interface ChildExit {
  code: number | null
  signal: NodeJS.Signals | null
  /** True when it ended after `stop()` or `kill()`. */
  expected: boolean
  /** Last lines of stdout and stderr, newest last, at most 40. */
  logTail: string[]
  error?: NodeJS.ErrnoException
}

/**
 * A child process that cannot outlive us unseen (R15): own process group, an open stdin whose end tells it that we are gone, bound
 * to our death by the kernel where that is possible, output bounded, its whole tree ended with it.
 */
export class SupervisedChild {
  /** Marks the process and everything it starts, in their environment. */
  readonly nonce: string = createId('')
  /** Settles, never rejects, when the process and its group are gone and its output is read. */
  readonly exited: Promise<ChildExit>
  readonly identity: ProcessIdentity | undefined
  readonly #child: ChildProcess
  readonly #clock: Clock
  readonly #tail = new LogTail()
  readonly #log: LogFile | undefined
  #stopping = false
  #gone = false

  constructor(options: ChildOptions) {
    this.#clock = options.clock
    this.#log = options.log === undefined ? undefined : new LogFile(options.log.directory, options.log.name)
    this.#child = this.#spawn(options)
    this.exited = this.#watchExit()
    this.identity = this.pid === undefined ? undefined : identityOf(this.pid)
    this.#collectOutput(options.onLine)
    this.#offerToOutOfMemoryKiller()
  }

  /** Undefined when it could not be started; `exited` tells why. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Where its output is kept, if anywhere. */
  get logPath(): string | undefined {
    return this.#log?.path
  }

  get logTail(): string[] {
    return this.#tail.lines()
  }

  /** @returns false when the channel is closed. Throws what structured clone throws. */
  send(message: object): boolean {
    if (!this.#child.connected) return false
    this.#child.send(message, () => undefined)
    return true
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#child.on('message', listener)
  }

  /** SIGTERM to the group, SIGKILL after `grace` milliseconds. Calling it twice is harmless. */
  async stop({ grace }: { grace: number }): Promise<ChildExit> {
    if (this.#gone || this.pid === undefined) return this.exited
    this.#stopping = true
    // Windows has no SIGTERM: what should end gracefully was told so by a message before.
    if (process.platform === 'win32' || !signalGroup(this.pid, 'SIGTERM')) this.#child.kill('SIGTERM')
    const timer = this.#clock.setTimer(grace, () => this.kill())
    const exit = await this.exited
    timer.cancel()
    return exit
  }

  /** SIGKILL to the group and to descendants that left it. */
  kill(): void {
    if (this.#gone || this.pid === undefined) return
    this.#stopping = true
    if (process.platform === 'win32') {
      spawnSync('taskkill', ['/PID', String(this.pid), '/T', '/F'], { windowsHide: true })
      return
    }
    const [, ...descendants] = processTree(this.pid)
    signalGroup(this.pid, 'SIGKILL')
    for (const pid of descendants) signalProcess(pid, 'SIGKILL')
    this.#child.kill('SIGKILL')
  }

  #spawn(options: ChildOptions): ChildProcess {
    const found = findExecutable(options.command)
    const { command, args } = found === undefined ? options : boundToParent(found, options.args)
    return spawn(command, args, {
      // A group of its own; on Windows that would open a console, and `taskkill /T` finds the tree anyway.
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: options.ipc === true ? ['pipe', 'pipe', 'pipe', 'ipc'] : ['pipe', 'pipe', 'pipe'],
      serialization: 'advanced',
      ...(options.directory === undefined ? {} : { cwd: options.directory }),
      env: childEnvironment({
        ...options.environment,
        ...(process.versions['electron'] === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }),
        [NONCE_VARIABLE]: this.nonce,
        [PARENT_VARIABLE]: String(process.pid),
      }),
    })
  }

  #watchExit(): Promise<ChildExit> {
    const child = this.#child
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    return new Promise((resolve) => {
      // 'error' also reports a failed send or kill: only without a pid does it mean that nothing was started.
      child.on('error', (error) => {
        if (child.pid === undefined) resolve(this.#report(null, null, error))
      })
      child.once('exit', (code, signal) => {
        this.#gone = true
        void keptAlive(this.#clearUp(closed)).then(() => resolve(this.#report(code, signal)))
      })
    })
  }

  /** After the leader's exit: what it left in its group is ended, the rest of the output read. */
  async #clearUp(closed: Promise<void>): Promise<void> {
    const group = this.pid
    if (process.platform !== 'win32' && group !== undefined && groupExists(group)) {
      signalGroup(group, 'SIGKILL')
      await waitForGroupEnd(group, GROUP_LINGER, this.#clock)
    }
    await Promise.race([closed, this.#pipesLinger()])
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy()
    this.#log?.close()
  }

  #pipesLinger(): Promise<void> {
    return new Promise((resolve) => void this.#clock.setTimer(PIPES_LINGER, resolve))
  }

  #report(code: number | null, signal: NodeJS.Signals | null, error?: NodeJS.ErrnoException): ChildExit {
    const exit = { code, signal, expected: this.#stopping, logTail: this.#tail.lines() }
    return error === undefined ? exit : { ...exit, error }
  }

  #collectOutput(onLine: ChildOptions['onLine']): void {
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      const lines = onLine === undefined ? undefined : new LineSplitter(onLine)
      const collect = (chunk: Buffer): void => {
        this.#tail.write(chunk)
        this.#log?.write(chunk)
        lines?.write(chunk.toString('utf8'))
      }
      output?.on('data', collect).on('error', () => undefined)
    }
    this.#child.stdin?.on('error', () => undefined)
  }

  #offerToOutOfMemoryKiller(): void {
    if (process.platform !== 'linux' || this.pid === undefined) return
    try {
      writeFileSync(`/proc/${this.pid}/oom_score_adj`, OUT_OF_MEMORY_SCORE)
    } catch {
      // Not allowed in some sandboxes: then the kernel chooses by size, which is usually the worker too.
    }
  }
}
