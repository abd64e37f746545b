import { SupervisedChild, type ChildOptions } from '../../host/child-process.ts'
import { recordWorker } from '../../host/worker-records.ts'
import type { WorkerExit } from './worker-exit.ts'

export interface WorkerChildOptions extends Omit<ChildOptions, 'log'> {
  /** Where it is written down while it runs, so that the next start can end it. Absent = nowhere. */
  recordsDirectory?: string | undefined
  /** Where its output is kept. Absent = only the last 40 lines, in errors. */
  logDirectory?: string | undefined
  /** For log and record names: the model, or `spare`. */
  label: string
}

/** A supervised child that holds a model: with its record on disk, and with the reason when it was ended by us. */
export class WorkerChild {
  /** Settles, never rejects, when the process, its group and its record are gone. */
  readonly exited: Promise<WorkerExit>
  readonly process: SupervisedChild
  readonly #options: WorkerChildOptions
  #removeRecord: () => void = () => undefined
  #model: string
  #ended: string | undefined
  #alive = true

  constructor(options: WorkerChildOptions) {
    const { label, logDirectory, recordsDirectory: _records, ...child } = options
    this.#options = options
    this.#model = label
    this.process = new SupervisedChild({
      ...child,
      ...(logDirectory !== undefined && {
        log: { directory: logDirectory, name: `${label}.${child.clock.wallTime().toString(36)}` },
      }),
    })
    this.exited = this.#watchExit()
    this.#record()
  }

  get pid(): number | undefined {
    return this.process.pid
  }

  get logPath(): string | undefined {
    return this.process.logPath
  }

  get alive(): boolean {
    return this.#alive
  }

  /** The model it is about to load: from now on it stands in the record and in error texts. */
  assign(model: string): void {
    if (model === this.#model) return
    this.#model = model
    this.#record()
  }

  /** Ends it at once, for a reason that will stand in the errors of its runs. */
  kill(reason: string): void {
    this.#ended ??= reason
    this.process.kill()
  }

  async #watchExit(): Promise<WorkerExit> {
    const exit = await this.process.exited
    this.#alive = false
    this.#removeRecord()
    const ended = this.#ended === undefined ? {} : { ended: this.#ended }
    return { ...exit, ...ended, model: this.#model, pid: this.pid }
  }

  #record(): void {
    const { recordsDirectory, clock } = this.#options
    const { identity, nonce } = this.process
    if (recordsDirectory === undefined || identity === undefined || !this.#alive) return
    const record = { ...identity, nonce, model: this.#model, startedAt: clock.wallTime() }
    try {
      this.#removeRecord = recordWorker(recordsDirectory, record)
    } catch {
      // A full or read-only disk stops no model (BR-25): this worker still ends with us, by its closed input and our death (R15).
    }
  }
}
