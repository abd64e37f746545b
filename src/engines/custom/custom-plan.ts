import { isMap } from '../../base/is-map.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { declaredBytes, declaredFootprint, type DeclaredMemory } from '../declared-memory.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type LoadPlan } from '../engine.ts'
import { hashOf } from '../planning.ts'
import type { CustomModel, EngineDefinition } from './engine-definition.ts'

const DEFAULT_CONTEXT = 8192
/** Prompts are counted and stop strings found around what the definition does. */
const DONE_AROUND_IT: Partial<EngineCapabilities> = { tokenizes: true, namesStops: true }

export function customCapabilities<Options>({
  tasks,
  capabilities = {},
}: EngineDefinition<Options>): EngineCapabilities {
  return { ...NO_CAPABILITIES, ...DONE_AROUND_IT, ...capabilities, tasks: [...tasks] }
}

/** @throws ModelyardError `config_invalid` with what the definition says of the model's options */
export function customModel<Options>(
  definition: EngineDefinition<Options>,
  spec: ModelSpec,
  facts: ModelFacts,
): CustomModel<Options> {
  const { name } = definition
  try {
    const options = definition.options?.(spec.engineOptions) ?? (spec.engineOptions as Options)
    return { options, spec, facts }
  } catch (error) {
    if (error instanceof ModelyardError) throw error
    const message = `model "${spec.id}" (engine "${name}"): ${error instanceof Error ? error.message : String(error)}`
    throw new ModelyardError('config_invalid', message, { cause: error })
  }
}

export function planCustom<Options>(
  definition: EngineDefinition<Options>,
  spec: ModelSpec,
  facts: ModelFacts,
): LoadPlan {
  const model = customModel(definition, spec, facts)
  const { name, version = '1', contextSize: usual = DEFAULT_CONTEXT } = definition
  const contextSize = spec.context ?? spec.defaultContext ?? usual
  const written = definition.memory?.(model) ?? 0
  const memory = requireBytes(
    typeof written === 'number' ? { ram: written } : written,
    spec.id,
    definition.name,
  )
  const uses = definition.uses?.(model) ?? []
  const threads = spec.device.threads ?? 0
  const parts = [
    name,
    version,
    spec.id,
    facts.contentId,
    contextSize,
    spec.slots,
    threads,
    spec.engineOptions,
  ]
  return {
    engine: name,
    model: spec.id,
    key: hashOf(parts),
    contextSize,
    slots: spec.slots,
    threads,
    footprint: declaredFootprint(memory),
    loadBytes: declaredBytes(memory),
    capabilities: customCapabilities(definition),
    ...(uses.length > 0 && { uses: [...uses] }),
    spec,
    facts,
  }
}

/** @throws ModelyardError `config_invalid` for what are no bytes: the ledger would be wrong for all models */
function requireBytes(memory: DeclaredMemory, model: string, engine: string): DeclaredMemory {
  const sizes: unknown[] = isMap(memory) ? Object.values(memory) : [memory]
  if (sizes.every((bytes) => Number.isSafeInteger(bytes) && (bytes as number) >= 0)) return memory
  const message = `model "${model}" (engine "${engine}"): its "memory" must be a whole number of bytes from 0 on, or one for each of {ram, "gpu:0", …}`
  throw new ModelyardError('config_invalid', message)
}
