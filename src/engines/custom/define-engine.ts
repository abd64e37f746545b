import { SystemClock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import {
  loadAborted,
  loadFailed,
  type Availability,
  type Engine,
  type LoadedModel,
  type LoadOptions,
  type LoadPlan,
} from '../engine.ts'
import { Lifetime } from '../lifetime.ts'
import { CustomLoadedModel } from './custom-loaded-model.ts'
import { customCapabilities, customModel, planCustom } from './custom-plan.ts'
import { requireBody } from './custom-checks.ts'
import type { CustomBody, EngineDefinition } from './engine-definition.ts'
import { ownError } from './own-error.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/**
 * An engine of one's own, for `engines` in a configuration or in `createYard`. The definition says what it can do and writes answers; everything
 * else that the contract asks (checks before the first part, stop strings, most tokens, cancelling, unloading under a run) is done around it.
 * It runs in the server's own process.
 * @throws ModelyardError `config_invalid` for a definition without a name, tasks or `load`
 */
export function defineEngine<Options = Readonly<Record<string, unknown>>>(
  definition: EngineDefinition<Options>,
): Engine {
  requireDefinition(definition)
  return {
    name: definition.name,
    capabilities: customCapabilities(definition),
    detect: async (): Promise<Availability> =>
      (await definition.detect?.()) ?? { available: true, version: definition.version ?? '1' },
    plan: (spec, facts) => planCustom(definition, spec, facts),
    load: async (plan, options) => await loadCustom(definition, plan, options),
  }
}

function requireDefinition<Options>(definition: EngineDefinition<Options>): void {
  const { name, tasks } = definition
  if (typeof name !== 'string' || !NAME.test(name))
    throw wrong('"name" must be letters, digits, "-" and "_", beginning with one of the former.')
  if (!Array.isArray(tasks) || tasks.length === 0)
    throw wrong(`engine "${name}": "tasks" must be a list of at least one.`)
  if (typeof definition.load !== 'function') throw wrong(`engine "${name}": "load" must be a function.`)
}

function wrong(message: string): ModelyardError {
  return new ModelyardError('config_invalid', `defineEngine: ${message}`)
}

async function loadCustom<Options>(
  definition: EngineDefinition<Options>,
  plan: LoadPlan,
  { signal, onProgress, ask }: LoadOptions,
): Promise<LoadedModel> {
  if (signal.aborted) throw loadAborted(signal)
  onProgress({ stage: 'starting' })
  const body = await bodyOf(definition, plan, { signal, onProgress })
  const model = new CustomLoadedModel(plan, body, new Lifetime(plan.model, new SystemClock()), ask)
  if (!signal.aborted) return model
  await model.unload()
  throw loadAborted(signal)
}

async function bodyOf<Options>(
  definition: EngineDefinition<Options>,
  { model: id, spec, facts }: LoadPlan,
  options: Pick<LoadOptions, 'signal' | 'onProgress'>,
): Promise<CustomBody> {
  try {
    return requireBody(await definition.load(customModel(definition, spec, facts), options))
  } catch (thrown) {
    if (options.signal.aborted) throw loadAborted(options.signal)
    const error = ownError(definition.name, thrown)
    if (error.code !== 'engine_failed') throw error
    throw loadFailed('crash', `"${id}" could not be loaded: ${error.message}`, thrown)
  }
}
