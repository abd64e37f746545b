import type { StopSignal } from '../../base/cancellation.ts'
import { sleep, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { concealKey, concealKeyIn } from './conceal-key.ts'
import { Connection, type Reply } from './connection.ts'
import { chooseEndpoint, Endpoint } from './endpoint.ts'
import { rootOf } from './endpoint-survey.ts'
import { readModelList, type RemoteModel } from './remote-model.ts'
import { compressed, isPassing, refusalError, unreachable, type Silence } from './upstream-error.ts'

/** Milliseconds of silence, before an answer and in it. */
const DEFAULT_FIRST_BYTE_TIMEOUT = 120_000
const DEFAULT_RETRIES = 2
const FIRST_PAUSE = 200
/** Longer than this nobody is kept waiting: the client is told when to come again. */
const LONGEST_PAUSE = 5000

export interface EndpointPoolOptions {
  model: string
  urls: readonly string[]
  key: string | undefined
  firstByteTimeout?: number | undefined
  retries?: number | undefined
  clock: Clock
}

/** What is sent: with a body by POST. */
export interface EndpointRequest {
  /** Behind the beginning of the API; or, for what is none of OpenAI's, behind what is above its `/v1`. */
  path: string
  aboveApi?: boolean
  body?: unknown
  accept?: string
  /** Where it is another than that of all others. */
  silence?: Silence
}

export interface Opening {
  /** The conversation's slot, when it has been answered from there before. */
  slot: number | undefined
  signal: StopSignal
  /** Whether a refusal is one for ever, whatever its status: no failure of the endpoint, and nothing to be tried again. Default: none is. */
  isFinal?: (refusal: ModelyardError) => boolean
}

/** Sends a request to one of several endpoints, and to another or again as long as nothing of an answer has come. */
export class EndpointPool {
  readonly #options: EndpointPoolOptions
  readonly #endpoints: readonly Endpoint[]
  readonly #connection: Connection
  readonly #lastOfSlot = new Map<number, Endpoint>()
  /** How long an endpoint may say nothing, unless a request has its own. */
  readonly silence: Silence

  constructor(options: EndpointPoolOptions) {
    this.#options = options
    this.#endpoints = options.urls.map((url) => new Endpoint(url, options.clock))
    this.#connection = new Connection(options.clock)
    const { firstByteTimeout = DEFAULT_FIRST_BYTE_TIMEOUT } = options
    this.silence = { milliseconds: firstByteTimeout, option: 'firstByteTimeout' }
  }

  /** The models there; undefined where an endpoint does not list them. @throws ModelyardError when it cannot be reached or refuses the key */
  async models(signal: StopSignal): Promise<RemoteModel[] | undefined> {
    const reply = await this.#try({ path: '/models' }, { slot: undefined, signal })
    if (reply.status === 404) return undefined
    if (reply.status !== 200) throw this.#refusal(this.#endpoints[0]?.url ?? '', reply, await reply.text())
    return readModelList(await reply.whole())
  }

  /** The answer's beginning: its status is 200, its body may be read. @throws ModelyardError */
  open(request: EndpointRequest, opening: Opening): Promise<Reply> {
    return this.#try(request, opening)
  }

  /** What an answer had to say of itself, without our key. */
  concealed(error: unknown): unknown {
    return concealKeyIn(error, this.#options.key)
  }

  async close(): Promise<void> {
    await this.#connection.close()
  }

  async #try(request: EndpointRequest, opening: Opening): Promise<Reply> {
    const { slot, signal } = opening
    const { retries = DEFAULT_RETRIES, clock } = this.#options
    const tried = new Set<Endpoint>()
    for (let attempt = 0; ; attempt++) {
      const endpoint = this.#choose(tried, slot)
      tried.add(endpoint)
      const outcome = await this.#attempt(endpoint, request, opening)
      if ('reply' in outcome) {
        if (slot !== undefined) this.#lastOfSlot.set(slot, endpoint)
        return outcome.reply
      }
      if (!outcome.passing || attempt >= retries) throw outcome.error
      const pause = outcome.error.retryAfter ?? FIRST_PAUSE * 2 ** attempt
      if (pause > LONGEST_PAUSE) throw outcome.error
      if (tried.size >= this.#endpoints.length) await sleep(clock, pause, signal)
    }
  }

  #choose(tried: ReadonlySet<Endpoint>, slot: number | undefined): Endpoint {
    const last = slot === undefined ? undefined : this.#lastOfSlot.get(slot)
    const endpoint = chooseEndpoint(this.#endpoints, tried, last)
    if (endpoint !== undefined) return endpoint
    const rest = Math.min(...this.#endpoints.map((each) => each.rest))
    const { model } = this.#options
    throw new ModelyardError(
      'queue_full',
      `All upstreams of model "${model}" have failed several times; the next try is in ${Math.ceil(rest / 1000)} s.`,
      { retryAfter: rest },
    )
  }

  async #attempt(
    endpoint: Endpoint,
    { path, aboveApi = false, body, accept, silence = this.silence }: EndpointRequest,
    { signal, isFinal = () => false }: Opening,
  ): Promise<{ reply: Reply } | { error: ModelyardError; passing: boolean }> {
    const { model, key } = this.#options
    endpoint.begin()
    // Busy until its answer has been read or given up.
    let isBusy = true
    const onOver = (): void => {
      if (isBusy) endpoint.end()
      isBusy = false
    }
    try {
      const url = (aboveApi ? rootOf(endpoint.url).root : endpoint.url) + path
      const reply = await this.#connection.send({
        url,
        key,
        body,
        accept,
        signal,
        silence: silence.milliseconds,
        onOver,
      })
      if (reply.status === 200 || body === undefined) {
        endpoint.succeeded()
        if (reply.encoding === undefined) return { reply }
        reply.body.finish()
        return { error: compressed(model, endpoint.url, reply.encoding), passing: false }
      }
      const error = this.#refusal(endpoint.url, reply, await reply.text())
      const passing = isPassing(reply.status) && !isFinal(error)
      if (passing) endpoint.failed()
      else endpoint.succeeded()
      return { error, passing }
    } catch (error) {
      onOver()
      if (signal.aborted) throw error
      const failure = unreachable(model, endpoint.url, silence, error)
      // It worked on an answer in one piece all that time: to begin it anew would take as long, and says nothing about the endpoint.
      if (failure.code === 'timeout' && silence.option === 'wholeAnswerTimeout')
        return { error: failure, passing: false }
      endpoint.failed()
      return { error: failure, passing: true }
    }
  }

  #refusal(url: string, { status, retryAfter }: Reply, body: string): ModelyardError {
    return refusalError(this.#options.model, {
      url,
      status,
      body: concealKey(body, this.#options.key),
      ...(retryAfter !== undefined && { retryAfter }),
    })
  }
}
