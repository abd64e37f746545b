import { SystemClock, type Clock } from '../../base/clock.ts'
import { nearestNames } from '../../base/nearest.ts'
import { ModelyardError, toModelyardError } from '../../base/errors.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
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
} from '../engine.ts'
import { EndpointPool } from './endpoint-pool.ts'
import { UpstreamModel } from './upstream-model.ts'
import { upstreamOptions, type UpstreamOptions } from './upstream-options.ts'
import { planUpstream, UPSTREAM_CAPABILITIES } from './upstream-plan.ts'

export interface UpstreamEngineOptions {
  /** Default: the system's clock. */
  clock?: Clock
  /** Value of an environment variable, for `keyEnvironment`. Default: none is set. */
  environmentVariable?: (name: string) => string | undefined
}

/** Milliseconds for an endpoint to say which models it has. */
const PROBE_TIMEOUT = 10_000

/**
 * Models that another server has in memory: anything that speaks OpenAI's API (vLLM, SGLang, LM Studio, llama-server, another Modelyard, a
 * cloud). They cost nothing here unless `memory` says so; slots are how many requests are sent at once.
 */
export class UpstreamEngine implements Engine {
  readonly name = 'upstream'
  readonly capabilities: EngineCapabilities = UPSTREAM_CAPABILITIES
  readonly #clock: Clock
  readonly #environmentVariable: (name: string) => string | undefined

  constructor({
    clock = new SystemClock(),
    environmentVariable = () => undefined,
  }: UpstreamEngineOptions = {}) {
    this.#clock = clock
    this.#environmentVariable = environmentVariable
  }

  async detect(): Promise<Availability> {
    return { available: true, version: '1' }
  }

  plan(spec: ModelSpec, facts: ModelFacts): LoadPlan {
    return planUpstream(spec, facts)
  }

  async load(plan: LoadPlan, { signal, onProgress }: LoadOptions): Promise<LoadedModel> {
    const options = upstreamOptions(plan.spec)
    onProgress({ stage: 'starting' })
    const endpoints = new EndpointPool({
      model: plan.model,
      urls: options.url,
      key: this.#keyOf(plan.model, options),
      firstByteTimeout: options.firstByteTimeout,
      retries: options.retries,
      clock: this.#clock,
    })
    try {
      await this.#probe(plan.model, options, endpoints, signal)
      return new UpstreamModel(plan, options, endpoints, this.#clock)
    } catch (error) {
      await endpoints.close()
      throw signal.aborted ? loadAborted(signal) : error
    }
  }

  #keyOf(model: string, { key, keyEnvironment }: UpstreamOptions): string | undefined {
    if (keyEnvironment === undefined) return key
    const value = this.#environmentVariable(keyEnvironment)
    if (value !== undefined && value !== '') return value
    throw loadFailed(
      'bad_option',
      `Model "${model}" needs the API key in the environment variable ${keyEnvironment}, which is not set.`,
    )
  }

  async #probe(
    model: string,
    { remoteModel = model }: UpstreamOptions,
    endpoints: EndpointPool,
    signal: AbortSignal,
  ): Promise<void> {
    const timeout = new AbortController()
    const timer = this.#clock.setTimer(PROBE_TIMEOUT, () => timeout.abort())
    try {
      const names = await endpoints.models(AbortSignal.any([signal, timeout.signal]))
      if (names !== undefined && !names.includes(remoteModel)) throw unknownThere(model, remoteModel, names)
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

function unknownThere(model: string, remoteModel: string, names: readonly string[]): ModelyardError {
  const nearest = nearestNames(remoteModel, names)
  const hint = nearest.length === 0 ? '' : ` Near it are: ${nearest.join(', ')}.`
  return loadFailed(
    'bad_option',
    `The upstream of model "${model}" has no model "${remoteModel}" among its ${names.length}; set remoteModel.${hint}`,
  )
}
