import { SystemClock, type Clock } from '../../base/clock.ts'
import { nearestNames } from '../../base/nearest.ts'
import { ModelyardError, toModelyardError } from '../../base/errors.ts'
import type { EndpointAbility, EndpointFacts, ModelFacts, ModelPurpose } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import {
  loadAborted,
  loadFailed,
  type Availability,
  type Engine,
  type EngineCapabilities,
  type LoadedModel,
  type LoadOptions,
  type LoadPlan,
  type ModelList,
} from '../engine.ts'
import { EndpointPool } from './endpoint-pool.ts'
import { EndpointSurvey, type SurveyedEndpoint } from './endpoint-survey.ts'
import type { ServerGroup } from './server-group.ts'
import { startGroup } from './start-group.ts'
import { UpstreamModel } from './upstream-model.ts'
import { upstreamOptions, type UpstreamOptions } from './upstream-options.ts'
import { planUpstream, UPSTREAM_CAPABILITIES } from './upstream-plan.ts'

export interface UpstreamEngineOptions {
  /** Default: the system's clock. */
  clock?: Clock
  /** Value of an environment variable, for `keyEnvironment`. Default: none is set. */
  environmentVariable?: (name: string) => string | undefined
  /** Told when an endpoint's refusal, or its being too long ago, changed what is known of a model, so that it is planned anew. */
  onLearned?: (model: string) => void
  /** Where servers that are started are written down while they run, and where their output is kept. Absent = nowhere. */
  recordsDirectory?: string
  logDirectory?: string
}

/** Milliseconds for an endpoint to say which models it has. */
const PROBE_TIMEOUT = 10_000
const DEFAULT_REFRESH = 300_000
/** Of models that write no text. */
const OTHER_PURPOSES = ['embedding', 'rerank', 'transcription', 'speech', 'image'] as const
/** Of a server that is started with the model nothing is known before. */
const NO_ENDPOINT: ModelFacts = { format: 'none', fileSize: 0, contentId: '', purpose: 'generation' }

/**
 * Models that another server has in memory: anything that speaks OpenAI's API (vLLM, SGLang, LM Studio, llama-server, another Modelyard, a
 * cloud). They cost nothing here unless `memory` says so; slots are how many requests are sent at once.
 */
export class UpstreamEngine implements Engine {
  readonly name = 'upstream'
  readonly capabilities: EngineCapabilities = UPSTREAM_CAPABILITIES
  readonly #clock: Clock
  readonly #environmentVariable: (name: string) => string | undefined
  readonly #onLearned: (model: string) => void
  readonly #survey: EndpointSurvey
  readonly #directories: Pick<UpstreamEngineOptions, 'recordsDirectory' | 'logDirectory'>

  constructor({
    clock = new SystemClock(),
    environmentVariable = () => undefined,
    onLearned = () => undefined,
    ...directories
  }: UpstreamEngineOptions = {}) {
    this.#directories = directories
    this.#clock = clock
    this.#environmentVariable = environmentVariable
    this.#onLearned = onLearned
    this.#survey = new EndpointSurvey(clock)
  }

  async detect(): Promise<Availability> {
    return { available: true, version: '1' }
  }

  plan(spec: ModelSpec, facts: ModelFacts): LoadPlan {
    return planUpstream(spec, facts)
  }

  /** Asks the endpoint at most once a minute; costs no tokens there. */
  async inspect(spec: ModelSpec, signal: AbortSignal): Promise<ModelFacts> {
    const options = upstreamOptions(spec)
    if (options.start !== undefined) return NO_ENDPOINT
    try {
      const endpoint = this.#endpointOf(spec.id, options)
      return factsFrom(await this.#survey.factsOf(endpoint, options.remoteModel ?? spec.id, signal))
    } catch (error) {
      if (signal.aborted) throw error
      const [url = ''] = options.url
      return factsFrom({ url, abilities: [], problem: toModelyardError(error).message })
    }
  }

  async listModels(spec: ModelSpec, signal: AbortSignal): Promise<ModelList> {
    const options = upstreamOptions(spec)
    if (options.start !== undefined) throw notListed(spec.id)
    const { refresh = DEFAULT_REFRESH } = options
    const models = await this.#survey.list(this.#endpointOf(spec.id, options), signal)
    if (models === undefined) throw noList(spec.id, options.url)
    const served = models.map(({ id }) => ({ name: id, options: { remoteModel: id } }))
    return { models: served, refreshAfter: refresh }
  }

  async load(plan: LoadPlan, { signal, onProgress }: LoadOptions): Promise<LoadedModel> {
    const options = upstreamOptions(plan.spec)
    onProgress({ stage: 'starting' })
    const group = await this.#groupOf(plan, options, { signal, onProgress })
    const found = this.#endpointOf(plan.model, options)
    const endpoint =
      group === undefined ? found : { ...found, urls: [group.url], key: group.key ?? found.key }
    const endpoints = new EndpointPool({
      ...endpoint,
      firstByteTimeout: options.firstByteTimeout,
      retries: options.retries,
      clock: this.#clock,
    })
    try {
      const server = await this.#probe(plan.model, options, endpoints, signal)
      const learn = (ability: EndpointAbility): void => {
        const changed = (): void => this.#onLearned(plan.model)
        this.#survey.refused(endpoint, options.remoteModel ?? plan.model, ability, changed)
        changed()
      }
      const clock = this.#clock
      return new UpstreamModel(plan, {
        options,
        endpoints,
        clock,
        learn,
        ...(group !== undefined && { group }),
        ...(server !== undefined && { server }),
      })
    } catch (error) {
      await endpoints.close()
      await group?.stop()
      throw signal.aborted ? loadAborted(signal) : error
    }
  }

  /** How far it is shows in what it holds of what it was said to take; a server that grows is not given up as one that stands still. */
  async #groupOf(
    { model, loadBytes }: LoadPlan,
    { start }: UpstreamOptions,
    { signal, onProgress }: Pick<LoadOptions, 'signal' | 'onProgress'>,
  ): Promise<ServerGroup | undefined> {
    if (start === undefined) return undefined
    const onGrowth = (bytes: number): void =>
      onProgress({ stage: 'loading', fraction: Math.min(0.99, bytes / Math.max(1, loadBytes)) })
    const clock = this.#clock
    return await startGroup({ model, start, clock, signal, onGrowth, ...this.#directories })
  }

  #endpointOf(model: string, options: UpstreamOptions): SurveyedEndpoint {
    return { model, urls: options.url, key: this.#keyOf(model, options) }
  }

  #keyOf(model: string, { key = '', keyEnvironment }: UpstreamOptions): string | undefined {
    if (keyEnvironment === undefined) return key === '' ? undefined : sendableKey(model, key, 'key')
    const value = this.#environmentVariable(keyEnvironment)?.trim()
    if (value !== undefined && value !== '') return sendableKey(model, value, keyEnvironment)
    throw loadFailed(
      'bad_option',
      `Model "${model}" needs the API key in the environment variable ${keyEnvironment}, which is not set.`,
    )
  }

  /** @returns what the server calls itself, where its list says it */
  async #probe(
    model: string,
    { remoteModel = model }: UpstreamOptions,
    endpoints: EndpointPool,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const timeout = new AbortController()
    const timer = this.#clock.setTimer(PROBE_TIMEOUT, () => timeout.abort())
    try {
      const models = await endpoints.models(AbortSignal.any([signal, timeout.signal]))
      const found = models?.find(({ id }) => id === remoteModel)
      if (models !== undefined && found === undefined)
        throw unknownThere(
          model,
          remoteModel,
          models.map(({ id }) => id),
        )
      return found?.ownedBy
    } catch (error) {
      if (timeout.signal.aborted) {
        throw loadFailed(
          'timeout',
          `The upstream of model "${model}" did not say within 10 s which models it has.`,
        )
      }
      const { code, message } = toModelyardError(error, 'engine_failed')
      throw code === 'model_load_failed' ? error : loadFailed('missing_engine', message, error)
    } finally {
      timer.cancel()
    }
  }
}

/** @throws ModelyardError for what no header can carry; it is not shown */
function sendableKey(model: string, key: string, from: string): string {
  if (/^[\x21-\x7E]+$/.test(key)) return key
  throw loadFailed(
    'bad_option',
    `The API key of model "${model}" (${from}) has spaces, line ends or letters outside of ASCII in it, which cannot be sent; correct it.`,
  )
}

function factsFrom(endpoint: EndpointFacts): ModelFacts {
  return { format: 'none', fileSize: 0, contentId: '', purpose: purposeOf(endpoint), endpoint }
}

function purposeOf({ abilities }: EndpointFacts): ModelPurpose {
  const can = (name: string): boolean | undefined => abilities.find((ability) => ability.name === name)?.has
  const isOther = can('chat') === false && can('completion') !== true
  return (isOther && OTHER_PURPOSES.find((purpose) => can(purpose) === true)) || 'generation'
}

function notListed(model: string): ModelyardError {
  return new ModelyardError(
    'config_invalid',
    `"${model}" stands for all models of an endpoint, so it needs a url; a server that is started serves one.`,
  )
}

function noList(model: string, [url = '']: readonly string[]): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    `${url} does not list its models; name each in an entry of its own instead of "${model}".`,
  )
}

function unknownThere(model: string, remoteModel: string, names: readonly string[]): ModelyardError {
  const nearest = nearestNames(remoteModel, names)
  const hint = nearest.length === 0 ? '' : ` Near it are: ${nearest.join(', ')}.`
  return loadFailed(
    'bad_option',
    `The upstream of model "${model}" has no model "${remoteModel}" among its ${names.length}; set remoteModel.${hint}`,
  )
}
