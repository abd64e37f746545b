import { abortError, onAbort } from '../../base/abort.ts'
import { Cancellation } from '../../base/cancellation.ts'
import { waitAtMost, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { Part, PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { asMeasured } from '../declared-memory.ts'
import { stopOf, type ExitReport, type LoadedModel, type LoadPlan, type RunOptions } from '../engine.ts'
import { countTokensThere, uncountable } from './count-tokens.ts'
import type { EndpointPool } from './endpoint-pool.ts'
import type { ServerGroup } from './server-group.ts'
import { TaskExchange, type ExchangeParts } from './task-exchange.ts'
import { isOtherTask } from './task-request.ts'
import type { UpstreamOptions } from './upstream-options.ts'

/** Milliseconds. */
const EXIT_NEWS = 300

/** Why a request is ended whose reader has left; nobody hears it. */
const LEFT = new ModelyardError('aborted', 'The reader left.')

/** What a model of an upstream works with. */
export interface UpstreamParts extends ExchangeParts {
  clock: Clock
  /** The server behind it, when it was started for this model. */
  group?: ServerGroup
}

/** A model that somebody else has in memory. "Loaded" means: it answered that it is there. */
export class UpstreamModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly takesStop = true
  readonly exited: Promise<ExitReport>
  /** Of the process that serves, when it was started for this model. */
  readonly pid?: number
  lastProgress?: number
  readonly #options: UpstreamOptions
  readonly #endpoints: EndpointPool
  readonly #exchange: TaskExchange
  readonly #clock: Clock
  readonly #group: ServerGroup | undefined
  readonly #running = new Set<Cancellation>()
  #gone = false
  #exit: (report: ExitReport) => void = () => undefined

  constructor(plan: LoadPlan, { clock, group, ...parts }: UpstreamParts) {
    this.plan = plan
    this.#group = group
    if (group?.pid !== undefined) this.pid = group.pid
    this.#options = parts.options
    this.#endpoints = parts.endpoints
    this.#exchange = new TaskExchange(plan, parts)
    this.#clock = clock
    this.exited = new Promise((resolve) => {
      this.#exit = resolve
    })
    void group?.exited.then((report) => this.#leave(group.failure, report))
  }

  get logPath(): string | undefined {
    return this.#group?.logPath
  }

  run(task: Task, options: RunOptions): PartStream {
    const ready: Part[] = []
    return Object.assign(this.#perform(task, options, ready), { takeReady: () => ready.shift() })
  }

  /** @param ready parts that have come and that the reader may take before it asks for the next */
  async *#perform(task: Task, options: RunOptions, ready: Part[]): PartStream {
    const { slot, keptPrefix } = options
    const isWhole = this.#exchange.asksWhole(task, options)
    const signal = stopOf(options)
    this.#check()
    signal.throwIfAborted()
    const own = new Cancellation()
    const unlisten = onAbort(signal, () => own.abort(abortError(signal)))
    this.#running.add(own)
    let isComplete = false
    try {
      const opening = { slot: keptPrefix > 0 ? slot : undefined, signal: own }
      const reply = await this.#exchange.open(task, isWhole, opening)
      const taken = { parts: ready, clock: this.#clock, onMoved: () => this.#moved() }
      const answer = this.#exchange.readerOf(task, reply, taken, isWhole)
      while (await answer.read())
        for (let part = ready.shift(); part !== undefined; part = ready.shift()) yield part
      const result = answer.result()
      isComplete = true
      return result
    } catch (error) {
      if (!own.aborted && !isAnswered(error)) await this.#exitNews()
      throw own.aborted ? abortError(own) : this.#exchange.judged(task, isWhole, error)
    } finally {
      unlisten()
      // Ends the request there when the reader has left.
      if (!isComplete) own.abort(LEFT)
      this.#running.delete(own)
    }
  }

  /** Exact, by the endpoint's own tokenizer; never guessed. @throws ModelyardError `unsupported` where it does not show it */
  async countTokens(task: Task, signal: AbortSignal = new AbortController().signal): Promise<number> {
    this.#check()
    const { facts, model } = this.plan
    const { remoteModel = model } = this.#options
    if (isOtherTask(task)) throw uncountable(model)
    const request = this.#exchange.textRequest(task)
    return await countTokensThere(this.#endpoints, {
      model,
      counting: facts.endpoint?.counting,
      task,
      body: { ...request.body, model: remoteModel },
      signal,
    })
  }

  /** The load has asked already; a token here could cost money there. */
  async warmUp(signal: AbortSignal): Promise<void> {
    this.#check()
    signal.throwIfAborted()
    this.#moved()
  }

  async memory(): Promise<MeasuredFootprint> {
    this.#check()
    const ram = await this.#group?.memory()
    return { ...asMeasured(this.plan.footprint), ...(ram !== undefined && { ram }) }
  }

  /** It is the pool's watch over a process that could hang; here there is none, and each request has its own deadline. */
  async ping(): Promise<void> {
    this.#check()
  }

  async unload(): Promise<void> {
    if (this.#gone) return void (await this.exited)
    this.#gone = true
    const cut = new ModelyardError('run_cut', `Model "${this.plan.model}" was unloaded while it answered.`)
    for (const running of this.#running) running.abort(cut)
    await this.#endpoints.close()
    if (this.#group === undefined) this.#exit({ expected: true, reason: 'it was unloaded.', logTail: [] })
    else await this.#group.stop()
    await this.exited
  }

  /** All processes of the server are gone: runs end with the reason, not with a broken connection. */
  #leave(failure: Error | undefined, report: ExitReport): void {
    this.#gone = true
    for (const running of this.#running) running.abort(failure)
    void this.#endpoints.close()
    this.#exit(report)
  }

  /** A broken connection may turn out to be the end of the server. */
  async #exitNews(): Promise<void> {
    if (this.#group !== undefined) await waitAtMost(this.#clock, EXIT_NEWS, this.exited)
  }

  #moved(): void {
    this.lastProgress = this.#clock.now()
  }

  #check(): void {
    if (!this.#gone) return
    throw (
      this.#group?.failure ?? new ModelyardError('worker_exited', `Model "${this.plan.model}" was unloaded.`)
    )
  }
}

/** A refusal is an answer; anything else may be the end of the server. */
function isAnswered(error: unknown): boolean {
  return error instanceof ModelyardError && error.details['status'] !== undefined
}
