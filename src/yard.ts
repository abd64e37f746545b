import type { IncomingMessage, ServerResponse } from 'node:http'
import type { YardConfiguration } from './config/yard-configuration.ts'
import type {
  ContextsRequest,
  LoadModelOptions,
  ModelCollection,
  ModelListing,
  WarmResult,
  YardPort,
} from './dialects/yard-port.ts'
import type { YardEvent } from './events/event-map.ts'
import type { ContextListing } from './pool/context-listing.ts'
import type { LoadForecast } from './pool/forecast.ts'
import type {
  CaptioningRequest,
  ChatRequest,
  ClassificationRequest,
  DetectionRequest,
  CompletionRequest,
  EmbeddingRequest,
  ImageRequest,
  RerankRequest,
  WarmRequest,
  SpeechRequest,
  TranscriptionRequest,
} from './runs/library-request.ts'
import {
  captioningRun,
  chatRun,
  classificationRun,
  detectionRun,
  completionRun,
  embeddingRun,
  imageRun,
  rerankRun,
  warmRun,
  speechRun,
  transcriptionRun,
} from './runs/library-runs.ts'
import { applyRecipe } from './runs/apply-recipe.ts'
import type { ResponseRecords } from './runs/response-records.ts'
import type { Run, RunRequest } from './runs/run.ts'
import { startRun } from './runs/run-task.ts'
import { TextStream } from './runs/text-stream.ts'
import { ToolRounds } from './runs/tool-rounds.ts'
import {
  collectImages,
  collectLabels,
  collectObjects,
  collectScores,
  collectVectors,
  type Classification,
  type Detection,
  type Embeddings,
  type GeneratedImages,
  type Scores,
} from './runs/collect-values.ts'
import { collectTranscript, type Transcript } from './runs/collect-transcript.ts'
import { SoundStream } from './runs/sound-stream.ts'
import type { RequestHandler } from './server/request-handler.ts'
import type { ListenAddress } from './server/listener.ts'
import type { AccessRecord, Health } from './server/server-options.ts'
import { sharedBeginning } from './tasks/fingerprint.ts'
import type { Task } from './tasks/task.ts'
import { lookAtKind, lookAtKinds } from './yard-kinds.ts'
import { fetchArtifact } from './yard-known-models.ts'
import { openParts, type YardParts } from './yard-parts.ts'
import { YardCollection } from './yard-collection.ts'
import { contextsToRemove } from './yard-contexts.ts'
import { YardPool } from './yard-pool.ts'
import { evaluateBeginnings } from './yard-beginnings.ts'
import { prepareConfigured, reconfigure, warnOfEmptyBudgets } from './yard-models.ts'
import type { YardOptions } from './yard-options.ts'
import { withStoredSettings } from './stored-settings.ts'
import { YardControl } from './yard-control.ts'
import { examineHealth, yardHealth } from './yard-health.ts'
import { yardState, type YardState } from './yard-state.ts'

/** Milliseconds that answers under way may take when the yard stops; then they are cut. */
const STOP_DEADLINE = 10_000

/** Times a beginning is evaluated until it is on disk; all but the first find it in memory. */
const WARM_TRIES = 3

/** Milliseconds more in which clients can read that their answer was cut, before their connections are. */
const FAREWELL = 1000

/** An address the yard is reached under. */
export interface Listening {
  /** `http://127.0.0.1:11435` */
  url: string
  host: string
  port: number
  /** Stops listening; the yard goes on. */
  close(): Promise<void>
}

/**
 * Makes a yard: the one owner of all models of this process, or of a home shared with commands and servers.
 * @throws ModelyardError `config_invalid` naming the option, `home_in_use` naming the owner, a model's error when it is `prepare: "blocking"`
 */
export async function createYard(options: YardOptions = {}): Promise<Yard> {
  const parts = await openParts(options)
  const yard = new Yard(parts)
  warnOfEmptyBudgets(parts)
  try {
    await yard.prepareModels()
  } catch (error) {
    await yard.stop()
    throw error
  }
  return yard
}

/** See {@link createYard}. Dispose it (`await using`), or call {@link Yard.stop}: both end every child process. */
export class Yard implements YardPort, AsyncDisposable {
  readonly #parts: YardParts
  readonly #pool: YardPool
  readonly #collection: YardCollection
  readonly #control: YardControl
  #server: Promise<RequestHandler> | undefined
  #stopped: Promise<void> | undefined
  readonly #requestWatchers = new Set<(record: AccessRecord) => void>()
  #url: string | null = null

  constructor(parts: YardParts) {
    this.#parts = parts
    this.#pool = new YardPool(parts.pool, parts.preparer)
    this.#collection = new YardCollection(parts)
    this.#control = new YardControl(parts, this.#collection)
    evaluateBeginnings({
      bus: parts.bus,
      specOf: (model) => parts.registry.list().find(({ id }) => id === model),
      contexts: () => this.listContexts(),
      warm: async (request) => this.warm(request),
    })
    parts.engines.connect((question) => this.startRun(question).parts)
  }

  /** Which models there are in all detail, and how that is changed: fetched, made of others, removed. */
  get collection(): ModelCollection {
    return this.#collection
  }

  /** Responses that are kept, where the configuration says so. */
  get responses(): ResponseRecords | undefined {
    return this.#parts.store.responses.keep(this.configuration.server.responses)
  }

  /** What operators ask and change: settings, pins, runs, reasons, logs. */
  get control(): YardControl {
    return this.#control
  }

  /** For leases without a task of ours: `await using lease = await yard.pool.acquire({ model })`. */
  get pool(): YardPool {
    return this.#pool
  }

  get configuration(): YardConfiguration {
    return this.#parts.configuration
  }

  /** A conversation's next turn. Iterate it, or await `.text()` or `.answer()`. Wrong options are thrown by this call. */
  chat(request: ChatRequest): TextStream {
    const run = chatRun(request)
    const { tools = [], maxToolRounds } = request
    if (!tools.some(({ handler }) => handler !== undefined)) return new TextStream(this.startRun(run))
    return new TextStream(
      new ToolRounds({
        request: run,
        tools,
        startRun: (round) => this.startRun(round),
        clock: this.#parts.clock,
        ...(maxToolRounds !== undefined && { maxRounds: maxToolRounds }),
      }),
    )
  }

  /** Evaluates a beginning ahead and parks it, so that whoever begins alike computes only the rest, after any restart as well (P7). */
  async warm(request: WarmRequest): Promise<WarmResult> {
    const wanted = warmRun(request)
    for (let tries = WARM_TRIES; ; tries--) {
      const run = this.startRun(wanted)
      const { usage, timings } = (await new TextStream(run).answer()).result
      const { model } = run.info
      const state = await this.#parts.pool.keptBeginning(
        model,
        sharedBeginning(this.#taskFor(model, wanted.task)),
      )
      const { promptTokens: tokens, cachedTokens } = usage
      // Somebody was given the slot before it was written.
      if (state !== 'lost' || tries <= 1)
        return { model, tokens, cachedTokens, took: timings.prefill, kept: state === 'kept' }
    }
  }

  /** Text that goes on where the prompt ends. */
  complete(request: CompletionRequest): TextStream {
    return new TextStream(this.startRun(completionRun(request)))
  }

  /** One normalised vector per text or picture, in order. */
  async embed(request: EmbeddingRequest): Promise<Embeddings> {
    return collectVectors(this.startRun(embeddingRun(request)))
  }

  /** What is said in a sound file, with the times of its segments. */
  async transcribe(request: TranscriptionRequest): Promise<Transcript> {
    return collectTranscript(this.startRun(transcriptionRun(request)))
  }

  /** A text spoken: iterate the sound as it is made, or await `.bytes()`. Wrong options are thrown by this call. */
  speak(request: SpeechRequest): SoundStream {
    return new SoundStream(this.startRun(speechRun(request)))
  }

  waitOf(ticket: string): { place: number; reason: string } | undefined {
    return this.#parts.pool.waitOf(ticket)
  }

  /** How well each document answers the query, 0…1, in the order given. */
  async rerank(request: RerankRequest): Promise<Scores> {
    return collectScores(this.startRun(rerankRun(request)))
  }

  /** What texts or pictures are: labels with scores from 0 to 1, the likeliest first. */
  async classify(request: ClassificationRequest): Promise<Classification> {
    return collectLabels(this.startRun(classificationRun(request)))
  }

  /** What is on a picture and where, the likeliest first. */
  async detect(request: DetectionRequest): Promise<Detection> {
    return collectObjects(this.startRun(detectionRun(request)))
  }

  /** What is on a picture, or written on it: iterate it, or await `.text()`. Wrong options are thrown by this call. */
  caption(request: CaptioningRequest): TextStream {
    return new TextStream(this.startRun(captioningRun(request)))
  }

  /** Pictures of what a text says, one after the other. */
  async generateImage(request: ImageRequest): Promise<GeneratedImages> {
    return collectImages(this.startRun(imageRun(request)))
  }

  startRun(request: RunRequest): Run {
    const { runTimeout } = this.configuration.limits
    const task = this.#taskFor(request.model, request.task)
    if (task === request.task && runTimeout === undefined) return startRun(this.#parts.runs, request)
    const timeout = Math.min(
      request.timeout ?? Number.POSITIVE_INFINITY,
      runTimeout ?? Number.POSITIVE_INFINITY,
    )
    return startRun(this.#parts.runs, { ...request, task, ...(Number.isFinite(timeout) && { timeout }) })
  }

  /** Exact prompt tokens of a task as the model would see it. Loads the model. */
  async countTokens(model: string, task: Task, signal?: AbortSignal): Promise<number> {
    await using lease = await this.pool.acquire({ model, ...(signal === undefined ? {} : { signal }) })
    return await lease.loaded.countTokens(this.#taskFor(model, task), signal)
  }

  async listModels(): Promise<ModelListing[]> {
    await this.#parts.registry.refresh()
    await lookAtKinds(this.#parts)
    return this.#collection.list()
  }

  async findModel(name: string): Promise<ModelListing> {
    await lookAtKind(this.#parts.registry.resolve(name), this.#parts)
    return this.#collection.find(name)
  }

  async loadModel(model: string, options: LoadModelOptions = {}): Promise<void> {
    const { registry, preparer, pool } = this.#parts
    const { signal = new AbortController().signal, wish, force = false } = options
    // Whoever may go beyond the budget may fetch what does not fit into it.
    if (force) await fetchArtifact(this.#parts, registry.resolve(model), { signal })
    const { id } = await preparer.prepare(model, signal, { force, ...(wish && { wish }) })
    await pool.load(id, options)
  }

  /** A model, or one instance of it (`smollm2#1`). `force` cuts its running answers at once instead of letting them end. */
  async unloadModel(model: string, options: { force?: boolean } = {}): Promise<void> {
    const { pool, registry, preparer } = this.#parts
    if (pool.status().instances.some(({ id }) => id === model)) return await pool.unload(model, options)
    const { id } = registry.resolve(model)
    if (preparer.peek(id) !== undefined) await pool.unload(id, options)
  }

  /** What loading the model would do now: bytes per domain, whom it would evict and why, the largest context that fits, or why not. */
  async plan(model: string): Promise<LoadForecast> {
    const { model: id } = await this.#parts.preparer.plan(model)
    return this.#parts.pool.forecast(id)
  }

  /** Conversations that are parked on disk, the last used first. */
  listContexts(): ContextListing[] {
    return this.#parts.pool.contexts()
  }

  /**
   * Deletes parked contexts: those named, or all of a model, or all. @returns how many went
   * @throws ModelyardError `not_found` when one of those named is not there, `model_not_found`; then nothing goes
   */
  removeContexts(request: ContextsRequest): number {
    const { pool, registry } = this.#parts
    const idOfModel = (name: string): string => registry.resolve(name).id
    return pool.removeContexts(contextsToRemove(request, pool.contexts(), idOfModel))
  }

  /** What `/api/yard/state` prints. Never users' text. */
  state(): YardState {
    return yardState(this.#parts, this.#url)
  }

  /** Every decision and event from now on. @returns a function that ends the subscription */
  subscribe(listener: (event: YardEvent) => void): () => void {
    for (const warning of this.#parts.earlyWarnings()) listener(warning)
    return this.#parts.bus.subscribe(listener)
  }

  /** Every HTTP request when its answer has ended, where `server.log` is on; neither bodies nor queries. @returns a function that ends it */
  watchRequests(listener: (record: AccessRecord) => void): () => void {
    this.#requestWatchers.add(listener)
    return () => this.#requestWatchers.delete(listener)
  }

  /** The HTTP API for a server of your own: `createServer(yard.handler())`. Nothing of HTTP is loaded before the first request. */
  handler(): (request: IncomingMessage, response: ServerResponse) => void {
    return (request, response) => {
      this.#serverParts().then(
        ({ handler }) => handler(request, response),
        () => response.destroy(),
      )
    }
  }

  /** Listens on an own server; defaults are the configuration's `server` settings. @throws the operating system's error, for example EADDRINUSE */
  async listen(address: Partial<ListenAddress> = {}): Promise<Listening> {
    const { host, port } = { ...this.configuration.server, ...address }
    const server = await this.#serverParts()
    const bound = await server.listen({ host, port })
    const url = `http://${bound.host.includes(':') ? `[${bound.host}]` : bound.host}:${bound.port}`
    this.#announce(url)
    return { url, ...bound, close: () => this.#endListening(server) }
  }

  /** Takes over another configuration: unchanged models stay loaded, removed ones go when they are idle, runs end as they began (BR-44). */
  async reconfigure(configuration: YardConfiguration): Promise<void> {
    const { store, bus } = this.#parts
    const warn = (message: string): void => bus.emit('warning-raised', { code: 'config_invalid', message })
    await reconfigure(this.#parts, withStoredSettings(configuration, store.settings, warn))
    await this.prepareModels()
  }

  /** Loads what `minInstances` and `prepare` ask for; waits only for models that are `prepare: "blocking"`. */
  async prepareModels(): Promise<void> {
    await prepareConfigured(this.#parts)
  }

  /** Ends it all: answers under way may end for ten seconds, every waiter is answered, every child is gone. Twice is harmless. */
  stop(options: { deadline?: number } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options.deadline ?? STOP_DEADLINE)
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** A model that was made of another one differs by what it fills in alone. */
  #taskFor(model: string, task: Task): Task {
    const recipe = this.#collection.recipeOf(model)
    return recipe === undefined ? task : applyRecipe(task, recipe)
  }

  #serverParts(): Promise<RequestHandler> {
    this.#server ??= this.#createServer()
    return this.#server
  }

  async #createServer(): Promise<RequestHandler> {
    const { createRequestHandler } = await import('./server/request-handler.ts')
    const { bus, clock, configuration } = this.#parts
    const { keys, cors, allowedHosts, bodyLimit, log } = configuration.server
    return createRequestHandler({
      port: this,
      control: this.#control,
      events: bus,
      clock,
      stateOf: () => this.state(),
      health: () => this.#health(yardHealth(this.#parts)),
      examine: async () => this.#health(await examineHealth(this.#parts)),
      keys,
      ...(cors.origins === undefined ? {} : { cors: { origins: cors.origins } }),
      allowedHosts,
      limits: { bodyBytes: bodyLimit },
      ...(log && { log: (record) => this.#tellRequest(record) }),
    })
  }

  #health(health: Health): Health {
    return this.#stopped === undefined
      ? health
      : { ...health, ready: false, reason: 'The server is stopping.' }
  }

  #tellRequest(record: AccessRecord): void {
    for (const watcher of this.#requestWatchers) watcher(record)
  }

  #announce(url: string): void {
    this.#url = url
    this.#parts.home?.update({ url })
  }

  async #endListening(server: RequestHandler): Promise<void> {
    this.#url = null
    await server.close()
  }

  async #stop(deadline: number): Promise<void> {
    const server = await this.#server
    await Promise.all([server?.close({ drain: deadline + FAREWELL }), this.#parts.pool.stop({ deadline })])
    await this.#parts.close()
  }
}
