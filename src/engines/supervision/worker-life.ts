import type { StopSignal } from '../../base/cancellation.ts'
import { onAbort } from '../../base/abort.ts'
import { sleep, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { ExitReport } from '../engine.ts'
import { RefusedByServer, type ServerConnection } from './server-connection.ts'
import type { WorkerChild } from './worker-child.ts'
import type { WorkerDeadlines } from './worker-deadlines.ts'
import { describeExit, workerExited, type WorkerExit } from './worker-exit.ts'
import { WorkerWatch } from './worker-watch.ts'

/** Milliseconds in which a broken connection may turn out to be the end of the process. */
const EXIT_NEWS = 300

export interface WorkerLifeOptions {
  /** Name of the engine, for errors. */
  engine: string
  model: string
  child: WorkerChild
  connection: ServerConnection
  clock: Clock
  deadlines: WorkerDeadlines
  /** What its server refused, in our words. */
  refused: (refusal: RefusedByServer) => ModelyardError
  /** Called when the process is gone. */
  onGone: () => Promise<void>
}

/** A piece of work that ends with the model, with its signal, or by itself. */
export interface Work {
  /** True while its reader holds it up. */
  isHeld: boolean
  controller: AbortController
}

/** How long the process of a model lives: what is under way on it, who watches it, and how it ends. */
export class WorkerLife {
  readonly exited: Promise<ExitReport>
  readonly #options: WorkerLifeOptions
  readonly #work = new Set<Work>()
  readonly #watch: WorkerWatch
  #onMoved: (now: number) => void = () => undefined
  #failure: ModelyardError | undefined
  /** By us: whatever breaks from now on is for that. */
  #isEnded = false
  #unloading: Promise<void> | undefined

  constructor(options: WorkerLifeOptions) {
    this.#options = options
    const { clock, deadlines, child } = options
    this.#watch = new WorkerWatch({
      clock,
      deadlines,
      sendPing: () => void this.#ask(),
      heldByReaders: () => this.#work.size > 0 && [...this.#work].every(({ isHeld }) => isHeld),
      end: (reason) => {
        this.#isEnded = true
        child.kill(reason)
      },
    })
    this.exited = child.exited.then((exit) => this.#leave(exit))
  }

  /** @throws worker_exited when the model is gone */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#unloading !== undefined) throw gone(this.#options.model)
  }

  /**
   * How its process ended, if it did: told to nobody who works on it before those who watch the model hear of it, which is when its files are
   * cleared away. Until then a repeat would be sent to the same dead process.
   */
  async #knownEnd(): Promise<ModelyardError | undefined> {
    if (this.#failure !== undefined) await this.exited.catch(() => undefined)
    return this.#failure
  }

  /** Replaces the one who is told of movements. */
  watch(onMoved: (now: number) => void): void {
    this.#onMoved = onMoved
  }

  /** A token came or a prefill moved. */
  moved(): void {
    this.#onMoved(this.#options.clock.now())
    this.#watch.heard()
    this.#watch.moved()
  }

  begin(): Work {
    const work: Work = { isHeld: false, controller: new AbortController() }
    this.#work.add(work)
    this.#watch.begin()
    return work
  }

  finish(work: Work): void {
    this.#work.delete(work)
    if (this.#work.size === 0) this.#watch.end()
  }

  /** Runs something that streams and ends with the model, with its signal, or when its reader leaves. */
  async *stream(signal: StopSignal, start: (signal: AbortSignal) => PartStream): PartStream {
    await this.#knownEnd()
    this.check()
    signal.throwIfAborted()
    const work = this.begin()
    const off = onAbort(signal, () => work.controller.abort(signal.reason))
    let parts: PartStream | undefined
    try {
      parts = start(work.controller.signal)
      for (;;) {
        const step = await parts.next()
        if (signal.aborted) throw signal.reason
        if (step.done === true) return step.value
        work.isHeld = true
        yield step.value
        work.isHeld = false
      }
    } catch (error) {
      throw await this.reasonOf(error, signal, work)
    } finally {
      off()
      work.controller.abort() // Ends the request there when the reader has left.
      await parts?.return(undefined as never).catch(() => undefined)
      this.finish(work)
    }
  }

  /** Does something short, that ends with the model. */
  async during<Outcome>(
    signal: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome> {
    await this.#knownEnd()
    this.check()
    signal?.throwIfAborted()
    const work = this.begin()
    const both =
      signal === undefined ? work.controller.signal : AbortSignal.any([signal, work.controller.signal])
    try {
      return await ask(both)
    } catch (error) {
      throw await this.reasonOf(error, signal, work)
    } finally {
      this.finish(work)
    }
  }

  /** Why a piece of work failed: its signal, the unloading, the end of the process, or the error itself. */
  async reasonOf(thrown: unknown, signal: StopSignal | undefined, { controller }: Work): Promise<unknown> {
    if (signal?.aborted === true) return signal.reason
    if (controller.signal.aborted) return controller.signal.reason
    if (thrown instanceof RefusedByServer) return this.#options.refused(thrown)
    // A connection that is closed already knows not why.
    if (thrown instanceof ModelyardError && thrown.code === 'worker_exited')
      return (await this.#knownEnd()) ?? thrown
    if (thrown instanceof ModelyardError && thrown.code !== 'engine_failed') return thrown
    if (!isConnectionTrouble(thrown)) return thrown
    await (this.#isEnded ? this.exited : Promise.race([this.exited, sleep(this.#options.clock, EXIT_NEWS)]))
    const end = await this.#knownEnd()
    if (end !== undefined) return end
    if (thrown instanceof ModelyardError) return thrown
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    const { engine, model } = this.#options
    const message = `The connection to the ${engine} worker of "${model}" broke: ${reason}`
    return new ModelyardError('engine_failed', message, { cause: thrown })
  }

  /**
   * Runs are cut first: while a request is pending, the server does not hear SIGTERM. Then SIGTERM, then SIGKILL to the whole group.
   * Calling it twice is harmless.
   */
  unload(): Promise<void> {
    this.#unloading ??= this.#end()
    return this.#unloading
  }

  async #end(): Promise<void> {
    const { model, child, connection, deadlines } = this.#options
    const cut = new ModelyardError('run_cut', `Model "${model}" was unloaded while it answered.`)
    for (const { controller } of this.#work) controller.abort(cut)
    await connection.close()
    await child.process.stop({ grace: deadlines.terminate })
    await this.exited
  }

  async #ask(): Promise<void> {
    try {
      await this.#options.connection.health()
      this.#watch.heard()
    } catch {
      // No answer is what the watch waits for.
    }
  }

  async #leave(exit: WorkerExit): Promise<ExitReport> {
    const expected = this.#unloading !== undefined && exit.ended === undefined
    this.#failure = expected ? gone(this.#options.model) : workerExited(exit)
    this.#watch.end()
    await this.#options.connection.close()
    await this.#options.onGone()
    return { expected, reason: `The worker ${describeExit(exit)}.`, logTail: exit.logTail }
  }
}

function gone(model: string): ModelyardError {
  return new ModelyardError('worker_exited', `Model "${model}" was unloaded.`)
}

/** Whatever is not a word of ours may come from the connection; a stream that ended too early may, too. */
function isConnectionTrouble(error: unknown): boolean {
  return (
    !(error instanceof ModelyardError) ||
    /before it was complete|connection to the worker/.test(error.message)
  )
}
