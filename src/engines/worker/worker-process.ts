import type { Clock } from '../../base/clock.ts'
import { WorkerChild } from '../supervision/worker-child.ts'
import type { WorkerDeadlines } from '../supervision/worker-deadlines.ts'
import type { WorkerExit } from '../supervision/worker-exit.ts'
import type { FromWorker, ToWorker } from './protocol.ts'

export interface WorkerProcessOptions {
  /** Absolute path of the worker's program (`dist/worker.js`). */
  entry: string
  engine: string
  engineOptions: Record<string, unknown>
  clock: Clock
  deadlines: WorkerDeadlines
  recordsDirectory?: string
  logDirectory?: string
  /** For log and record names: the model, or `spare`. */
  label: string
}

/** One worker process and the typed channel to it. It is told which engine to make at spawn, without waiting for anything. */
export class WorkerProcess {
  /** Settles, never rejects, when the process, its group and its record are gone. */
  readonly exited: Promise<WorkerExit>
  readonly #child: WorkerChild
  readonly #options: WorkerProcessOptions
  #listener: (message: FromWorker) => void = () => undefined

  constructor(options: WorkerProcessOptions) {
    const { clock, entry, label, recordsDirectory, logDirectory, engine, engineOptions } = options
    this.#options = options
    this.#child = new WorkerChild({
      command: process.execPath,
      args: [entry, label],
      clock,
      ipc: true,
      label,
      recordsDirectory,
      logDirectory,
    })
    this.exited = this.#child.exited
    this.#child.process.onMessage((messages) => this.#receive(messages))
    this.send({ type: 'construct', engine, options: engineOptions })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get logPath(): string | undefined {
    return this.#child.logPath
  }

  get alive(): boolean {
    return this.#child.alive
  }

  /** The model it is about to load: from now on it stands in the record and in error texts. */
  assign(model: string): void {
    this.#child.assign(model)
  }

  /** Replaces the one listener. */
  listen(listener: (message: FromWorker) => void): void {
    this.#listener = listener
  }

  /** Dropped when the worker is gone: its exit is what answers then. */
  send(message: ToWorker): void {
    this.#child.process.send(message)
  }

  /** Ends it at once, for a reason that will stand in the errors of its runs. */
  kill(reason: string): void {
    this.#child.kill(reason)
  }

  /** By message first, then SIGTERM, then SIGKILL; resolves when it is gone. */
  async unload(): Promise<WorkerExit> {
    const { clock, deadlines } = this.#options
    this.send({ type: 'unload' })
    const timer = clock.setTimer(
      deadlines.unload,
      () => void this.#child.process.stop({ grace: deadlines.terminate }),
    )
    const exit = await this.exited
    timer.cancel()
    return exit
  }

  /** A worker that was built apart from this server (an upgrade under a running one) is ended, never half understood. */
  #receive(messages: unknown): void {
    try {
      if (!Array.isArray(messages)) throw new TypeError('not a list')
      for (const message of messages as FromWorker[]) this.#listener(message)
    } catch {
      this.kill('it speaks the language of another version; restart the server after an upgrade')
    }
  }
}
