import { abortError, onAbort } from '../../base/abort.ts'
import { Cancellation } from '../../base/cancellation.ts'
import { waitAtMost, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { EndpointAbility } from '../../models/model-facts.ts'
import type { Part, PartStream } from '../../tasks/part.ts'
import { writesText, type Task } from '../../tasks/task.ts'
import { asMeasured } from '../declared-memory.ts'
import { stopOf, type ExitReport, type LoadedModel, type LoadPlan, type RunOptions } from '../engine.ts'
import type { AnswerReader } from './answer-reader.ts'
import type { Reply } from './connection.ts'
import { countTokensThere, uncountable } from './count-tokens.ts'
import type { EndpointPool, EndpointRequest, Opening } from './endpoint-pool.ts'
import { marksContinuation, ranksRaw } from './known-servers.ts'
import { learnFromRefusal } from './learn-from-refusal.ts'
import { readerOf } from './reader-of.ts'
import type { ServerGroup } from './server-group.ts'
import { isOtherTask, refusesForm, taskRequest } from './task-request.ts'
import { interrupted, lacksAbility, type Silence } from './upstream-error.ts'
import type { UpstreamOptions } from './upstream-options.ts'
import { wireRequest, type WireRequest } from './wire-request.ts'

/** Milliseconds. */
const EXIT_NEWS = 300

/** Milliseconds; ten minutes are what the vendors' SDKs wait. */
const DEFAULT_WHOLE_ANSWER_TIMEOUT = 600_000

/** Why a request is ended whose reader has left; nobody hears it. */
const LEFT = new ModelyardError('aborted', 'The reader left.')

/** What a model of an upstream works with. */
export interface UpstreamParts {
  options: UpstreamOptions
  endpoints: EndpointPool
  clock: Clock
  /** Told what the endpoint turned out not to have. */
  learn: (ability: EndpointAbility) => void
  /** The server behind it, when it was started for this model. */
  group?: ServerGroup
  /** What that server calls itself in its list of models. */
  server?: string
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
  readonly #clock: Clock
  readonly #learn: UpstreamParts['learn']
  readonly #group: ServerGroup | undefined
  readonly #server: string | undefined
  /** Kinds of tasks whose usual form of answer the endpoint refused. */
  readonly #plain = new Set<Task['kind']>()
  readonly #running = new Set<Cancellation>()
  #gone = false
  #exit: (report: ExitReport) => void = () => undefined

  constructor(plan: LoadPlan, { options, endpoints, clock, learn, group, server }: UpstreamParts) {
    this.plan = plan
    this.#server = server
    this.#group = group
    if (group?.pid !== undefined) this.pid = group.pid
    this.#learn = learn
    this.#options = options
    this.#endpoints = endpoints
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
    const isWhole = this.#asksWhole(task, options)
    const signal = stopOf(options)
    this.#check()
    signal.throwIfAborted()
    const own = new Cancellation()
    const unlisten = onAbort(signal, () => own.abort(abortError(signal)))
    this.#running.add(own)
    let isComplete = false
    try {
      const reply = await this.#open(task, isWhole, {
        slot: keptPrefix > 0 ? slot : undefined,
        signal: own,
        isFinal: (refusal) => learnFromRefusal(task, refusal) !== undefined,
      })
      const answer = this.#readerOf(task, reply, ready, isWhole)
      while (await answer.read())
        for (let part = ready.shift(); part !== undefined; part = ready.shift()) yield part
      const result = answer.result()
      isComplete = true
      return result
    } catch (error) {
      if (!own.aborted && !isAnswered(error)) await this.#exitNews()
      throw own.aborted ? abortError(own) : this.#judged(task, isWhole, error)
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
    const request = this.#textRequest(task)
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

  async #open(task: Task, isWhole: boolean, opening: Opening): Promise<Reply> {
    try {
      return await this.#send(task, isWhole, opening)
    } catch (error) {
      const reason = error instanceof ModelyardError ? error.details['reason'] : undefined
      if (this.#plain.has(task.kind) || !refusesForm(task, reason)) throw error
      this.#plain.add(task.kind)
      return await this.#send(task, isWhole, opening)
    }
  }

  async #send(task: Task, isWhole: boolean, opening: Opening): Promise<Reply> {
    const request = this.#request(task, isWhole)
    return await this.#endpoints.open({ ...request, silence: this.#silenceOf(task, isWhole) }, opening)
  }

  /** Of what comes in one piece nothing is heard before it is done. */
  #silenceOf({ kind }: Task, isWhole: boolean): Silence {
    const { wholeAnswerTimeout: milliseconds = DEFAULT_WHOLE_ANSWER_TIMEOUT } = this.#options
    const isDocument = isWhole || kind === 'image' || kind === 'transcription'
    if (!isDocument || milliseconds === 0) return this.#endpoints.silence
    return { milliseconds, option: 'wholeAnswerTimeout' }
  }

  #request(task: Task, isWhole: boolean): EndpointRequest {
    if (!isOtherTask(task)) return this.#textRequest(task, isWhole)
    const { spec, model } = this.plan
    const { remoteModel = model } = this.#options
    return taskRequest(task, {
      remoteModel,
      defaults: spec.defaults,
      isPlain: this.#plain.has(task.kind),
    })
  }

  /** Where nothing is read before the end, one piece costs both sides far less than hundreds. */
  #asksWhole(task: Task, { isWhole = false }: RunOptions): boolean {
    return isWhole && writesText(task) && this.#options.wholeAnswerTimeout !== 0
  }

  #textRequest(task: Task, isWhole = false): WireRequest {
    const { spec, model } = this.plan
    return wireRequest(task, {
      remoteModel: this.#options.remoteModel ?? model,
      defaults: spec.defaults,
      ...(spec.system !== undefined && { system: spec.system }),
      marksContinuation: marksContinuation(this.#server),
      isWhole,
    })
  }

  /** A refusal of what the endpoint never does is remembered, so that the next such request is refused before anything is sent. */
  #judged(task: Task, isWhole: boolean, error: unknown): unknown {
    if (!(error instanceof ModelyardError))
      return interrupted(this.plan.model, this.#silenceOf(task, isWhole), error)
    const ability = learnFromRefusal(task, error)
    if (ability === undefined) return error
    this.#learn(ability)
    return lacksAbility(this.plan.model, ability.name, error)
  }

  #readerOf(task: Task, reply: Reply, parts: Part[], isWhole: boolean): AnswerReader {
    const { model } = this.plan
    const { body, contentType } = reply
    const onMoved = (): void => this.#moved()
    const incoming = { model, body, parts, clock: this.#clock, onMoved }
    return readerOf(task, incoming, { contentType, isWhole, ranksRaw: ranksRaw(this.#server) })
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
