import type { Clock } from '../../base/clock.ts'
import { toModelyardError } from '../../base/errors.ts'
import { SharedWork } from '../../base/shared-work.ts'
import type { EndpointAbility, EndpointFacts } from '../../models/model-facts.ts'
import { concealKey } from './conceal-key.ts'
import { Connection } from './connection.ts'
import { readDocumentedRoutes, readServerProperties, type ServerFacts } from './documented-routes.ts'
import { abilitiesOfServer } from './known-servers.ts'
import { readModelList, type RemoteModel } from './remote-model.ts'
import { refusalError, unreachable } from './upstream-error.ts'

/** Milliseconds for which what an endpoint said of itself is taken as it is. */
const FRESH = 60_000
/** Milliseconds for which a refusal is believed; then it may have been started anew with other options. */
const BELIEVED = 600_000
/** Milliseconds for one question; whoever asks for facts is a client that waits. */
const PATIENCE = 3000
/** Milliseconds after which one that was not answered in that time is asked again: vLLM works its routes out when they are first asked for. */
const SOON = 5000

const NOTHING: ServerFacts = { abilities: [] }
const NOBODY = { status: 0, text: '' }

type Get = (address: string) => Promise<{ status: number; text: string }>

/** Where to ask, and for which entry of the configuration. */
export interface SurveyedEndpoint {
  model: string
  urls: readonly string[]
  key: string | undefined
}

/** What one endpoint said; without models where it does not list them. */
interface Survey {
  url: string
  at: number
  models: RemoteModel[] | undefined
  server: ServerFacts
}

/** What endpoints say of themselves, asked at most once a minute, and what they refused. Costs a request or two, never a token. */
export class EndpointSurvey {
  readonly #clock: Clock
  readonly #known = new Map<string, Survey>()
  readonly #work = new SharedWork<Survey>()
  /** By endpoint and model, then by ability. */
  readonly #refused = new Map<string, Map<string, { ability: EndpointAbility; until: number }>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Asks anew. @throws ModelyardError when no endpoint answers, or one refuses; undefined where models are not listed */
  async list(endpoint: SurveyedEndpoint, signal: AbortSignal): Promise<RemoteModel[] | undefined> {
    return (await this.#ask(endpoint, signal)).models
  }

  /** What is known of a model there; what cannot be asked is said in `problem`. @throws the signal's reason alone */
  async factsOf(
    endpoint: SurveyedEndpoint,
    remoteModel: string,
    signal: AbortSignal,
  ): Promise<EndpointFacts> {
    const place = placeOf(endpoint)
    const known = this.#known.get(place)
    if (known !== undefined && this.#clock.now() - known.at < FRESH)
      return this.#facts(place, known, remoteModel)
    try {
      return this.#facts(place, await this.#ask(endpoint, signal), remoteModel)
    } catch (error) {
      if (signal.aborted) throw error
      const { message: problem } = toModelyardError(error, 'engine_failed')
      const [url = ''] = endpoint.urls
      if (known !== undefined) return { ...this.#facts(place, known, remoteModel), problem }
      return { url, abilities: this.#refusals(place, remoteModel), problem }
    }
  }

  /** An endpoint refused something as such, not because of the request at hand. `onForgotten`: it is believed no longer, and may be tried again. */
  refused(
    endpoint: SurveyedEndpoint,
    remoteModel: string,
    ability: EndpointAbility,
    onForgotten: () => void,
  ): void {
    const key = refusalKey(placeOf(endpoint), remoteModel)
    const abilities = this.#refused.get(key) ?? new Map<string, { ability: EndpointAbility; until: number }>()
    abilities.set(ability.name, { ability, until: this.#clock.now() + BELIEVED })
    this.#refused.set(key, abilities)
    this.#clock.setTimer(BELIEVED, onForgotten)
  }

  #facts(place: string, { url, models, server }: Survey, remoteModel: string): EndpointFacts {
    const listed = models?.find(({ id }) => id === remoteModel)
    const contextLength = server.contextLength ?? listed?.contextLength
    const { counting } = server
    return {
      url,
      ...(contextLength !== undefined && { contextLength }),
      // The last that said something of an ability is right: a refusal above all.
      abilities: latest([
        ...server.abilities,
        ...abilitiesOfServer(listed?.ownedBy),
        ...(listed?.abilities ?? []),
        ...this.#refusals(place, remoteModel),
      ]),
      ...(counting !== undefined && { counting }),
    }
  }

  #refusals(place: string, remoteModel: string): EndpointAbility[] {
    const refusals = this.#refused.get(refusalKey(place, remoteModel))?.values() ?? []
    const now = this.#clock.now()
    return [...refusals].flatMap(({ ability, until }) => (now < until ? [ability] : []))
  }

  async #ask(endpoint: SurveyedEndpoint, signal: AbortSignal): Promise<Survey> {
    const place = placeOf(endpoint)
    const survey = await this.#work.join(place, signal, async (workSignal) =>
      this.#askFirstThatAnswers(endpoint, workSignal),
    )
    this.#known.set(place, survey)
    return survey
  }

  /** All of them serve the same. */
  async #askFirstThatAnswers(endpoint: SurveyedEndpoint, signal: AbortSignal): Promise<Survey> {
    const connection = new Connection(this.#clock)
    let failure: unknown
    try {
      for (const url of endpoint.urls) {
        try {
          return await this.#askOne(connection, { ...endpoint, url: url.replace(/\/+$/, '') }, signal)
        } catch (error) {
          if (signal.aborted) throw error
          failure ??= error
        }
      }
      throw failure
    } finally {
      await connection.close()
    }
  }

  async #askOne(
    connection: Connection,
    { model, url, key }: { model: string; url: string; key: string | undefined },
    signal: AbortSignal,
  ): Promise<Survey> {
    const get: Get = async (address) => {
      try {
        const reply = await connection.send({ url: address, key, signal, silence: PATIENCE })
        return { status: reply.status, text: await reply.whole() }
      } catch (error) {
        if (signal.aborted) throw error
        throw unreachable(model, url, { milliseconds: PATIENCE }, error)
      }
    }
    const { status, text } = await get(`${url}/models`)
    if (status !== 200 && status !== 404)
      throw refusalError(model, { url, status, body: concealKey(text, key) })
    const models = status === 200 ? readModelList(text) : undefined
    const told = await serverFacts(url, models, get)
    const at = this.#clock.now() - (told === undefined ? FRESH - SOON : 0)
    return { url, at, models, server: told ?? presumed(models) }
  }
}

/** All of vLLM's count tokens, whether they say so in time or not. */
function presumed(models: readonly RemoteModel[] | undefined): ServerFacts {
  const isVllm = models?.some(({ ownedBy }) => ownedBy === 'vllm') === true
  return isVllm ? { ...NOTHING, counting: 'tokenize-messages' } : NOTHING
}

/** Only servers that do not tell of each model are looked at more closely; undefined = not answered. */
async function serverFacts(
  url: string,
  models: readonly RemoteModel[] | undefined,
  get: Get,
): Promise<ServerFacts | undefined> {
  if (models?.some(({ abilities }) => abilities.length > 0) === true) return NOTHING
  const { root, base } = rootOf(url)
  const isLlama = models?.some(({ ownedBy }) => ownedBy === 'llamacpp') === true
  // A server that says nothing more of itself has its models nevertheless.
  const { status, text } = await get(`${root}/${isLlama ? 'props' : 'openapi.json'}`).catch(() => NOBODY)
  if (status === NOBODY.status) return undefined
  if (status !== 200) return NOTHING
  return (isLlama ? readServerProperties(text) : readDocumentedRoutes(text, base)) ?? NOTHING
}

/** Where a server keeps what does not belong to OpenAI's API: above its `/v1`. */
export function rootOf(url: string): { root: string; base: string } {
  const base = /\/v\d+$/.exec(url)?.[0] ?? ''
  return { root: url.slice(0, url.length - base.length), base }
}

function latest(abilities: readonly EndpointAbility[]): EndpointAbility[] {
  return [...new Map(abilities.map((ability) => [ability.name, ability])).values()]
}

/** Another key may be shown other models. */
function placeOf({ urls, key = '' }: SurveyedEndpoint): string {
  return JSON.stringify([urls, key])
}

function refusalKey(place: string, remoteModel: string): string {
  return `${place}\n${remoteModel}`
}
