import { abortError, onAbort } from '../../base/abort.ts'
import { waitAtMost, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { EndpointAbility } from '../../models/model-facts.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { asMeasured } from '../declared-memory.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { Reply } from './connection.ts'
import { countTokensThere } from './count-tokens.ts'
import type { EndpointPool } from './endpoint-pool.ts'
import { EventReader } from './event-reader.ts'
import { learnFromRefusal } from './learn-from-refusal.ts'
import type { ServerGroup } from './server-group.ts'
import { lacksAbility } from './upstream-error.ts'
import type { UpstreamOptions } from './upstream-options.ts'
import { UNKNOWN_USAGE, usageOf, WireAnswer } from './wire-answer.ts'
import { wireRequest } from './wire-request.ts'

/** Milliseconds. */
const EXIT_NEWS = 300

interface WireEmbeddings {
  data?: { index: number; embedding: number[] }[]
  usage?: { prompt_tokens?: number } | null
}

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
}

/** A model that somebody else has in memory. "Loaded" means: it answered that it is there. */
export class UpstreamModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly exited: Promise<ExitReport>
  /** Of the process that serves, when it was started for this model. */
  readonly pid?: number
  lastProgress?: number
  readonly #options: UpstreamOptions
  readonly #endpoints: EndpointPool
  readonly #clock: Clock
  readonly #learn: UpstreamParts['learn']
  readonly #group: ServerGroup | undefined
  readonly #running = new Set<AbortController>()
  #gone = false
  #exit: (report: ExitReport) => void = () => undefined

  constructor(plan: LoadPlan, { options, endpoints, clock, learn, group }: UpstreamParts) {
    this.plan = plan
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
  async *#perform(task: Task, { slot, keptPrefix, signal }: RunOptions, ready: Part[]): PartStream {
    this.#check()
    signal.throwIfAborted()
    const own = new AbortController()
    const unlisten = onAbort(signal, () => own.abort(abortError(signal)))
    this.#running.add(own)
    let isComplete = false
    try {
      const reply = await this.#endpoints.open(this.#request(task), {
        slot: keptPrefix > 0 ? slot : undefined,
        signal: own.signal,
      })
      const result = yield* task.kind === 'embedding' ? this.#vectors(reply) : this.#text(reply, ready)
      isComplete = true
      return result
    } catch (error) {
      if (!own.signal.aborted && !isAnswered(error)) await this.#exitNews()
      throw own.signal.aborted ? abortError(own.signal) : this.#judged(task, error)
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
    const request = this.#request(task)
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
    if (this.#gone) return
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

  #request(task: Task): ReturnType<typeof wireRequest> {
    const { spec, model } = this.plan
    return wireRequest(task, {
      remoteModel: this.#options.remoteModel ?? model,
      defaults: spec.defaults,
      ...(spec.system !== undefined && { system: spec.system }),
    })
  }

  /** A refusal of what the endpoint never does is remembered, so that the next such request is refused before anything is sent. */
  #judged(task: Task, error: unknown): unknown {
    if (!(error instanceof ModelyardError)) return error
    const ability = learnFromRefusal(task, error)
    if (ability === undefined) return error
    this.#learn(ability)
    return lacksAbility(this.plan.model, ability.name, error)
  }

  async *#text({ body }: Reply, ready: Part[]): AsyncGenerator<Part, Result, void> {
    const begun = this.#clock.now()
    let first: number | undefined
    const answer = new WireAnswer()
    const events = new EventReader()
    while (!events.isDone && (await body.arrival())) {
      this.#moved()
      const failure = readInto(ready, body.take(), events, answer)
      if (ready.length > 0) first ??= this.#clock.now()
      for (let part = ready.shift(); part !== undefined; part = ready.shift()) yield part
      if (failure !== undefined) throw failure
    }
    body.finish()
    if (!answer.complete) throw this.#broken()
    const answering = first ?? this.#clock.now()
    return answer.result({ prefill: answering - begun, decode: this.#clock.now() - answering })
  }

  async *#vectors(reply: Reply): AsyncGenerator<Part, Result, void> {
    const begun = this.#clock.now()
    const { data = [], usage } = await this.#json(reply)
    this.#moved()
    const counted = usage === undefined || usage === null ? UNKNOWN_USAGE : usageOf(usage)
    yield { type: 'started', promptTokens: counted.promptTokens, cachedTokens: 0 }
    for (const { index, embedding } of data)
      yield { type: 'vector', index, vector: Float32Array.from(embedding) }
    const timings = { prefill: this.#clock.now() - begun, decode: 0 }
    return { finishReason: 'stop', usage: { ...counted, completionTokens: 0 }, timings }
  }

  async #json({ body }: Reply): Promise<WireEmbeddings> {
    const chunks: Buffer[] = []
    for await (const chunk of body) chunks.push(chunk)
    try {
      return JSON.parse(Buffer.concat(chunks).toString('utf8')) as WireEmbeddings
    } catch {
      throw this.#broken()
    }
  }

  #moved(): void {
    this.lastProgress = this.#clock.now()
  }

  #check(): void {
    if (this.#gone) throw new ModelyardError('worker_exited', `Model "${this.plan.model}" was unloaded.`)
  }

  /** R12: without its finish reason no answer is complete. */
  #broken(): ModelyardError {
    return new ModelyardError(
      'engine_failed',
      `The upstream of model "${this.plan.model}" ended its answer before it was complete.`,
    )
  }
}

/** @returns what is wrong with the bytes, so that all that came before it is told first */
function readInto(
  ready: Part[],
  bytes: Buffer | undefined,
  events: EventReader,
  answer: WireAnswer,
): unknown {
  try {
    for (const chunk of events.read(bytes ?? Buffer.alloc(0))) ready.push(...answer.read(chunk))
    return undefined
  } catch (error) {
    return error
  }
}

/** A refusal is an answer; anything else may be the end of the server. */
function isAnswered(error: unknown): boolean {
  return error instanceof ModelyardError && error.details['status'] !== undefined
}
