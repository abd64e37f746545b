import { formatBytes } from '../../base/bytes.ts'
import { ModelyardError } from '../../base/errors.ts'
import { footprintTotal, type Footprint, type MemoryDomain } from '../../host/memory.ts'
import type { GgufFacts, ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { TaskKind } from '../../tasks/task.ts'
import { reasoningFormatOf } from '../../templates/answer/reasoning-format.ts'
import type { EngineCapabilities, HostFacts, SharedPages } from '../engine.ts'
import { fittingContext } from './fitting-context.ts'
import { kvBytesPerToken, type LoadShape } from './footprint.ts'
import { KNOWN_ARCHITECTURES } from './known-architectures.ts'
import { LLAMA_LIMITS } from './llama-limits.ts'

const DEFAULT_CONTEXT = 8192
/** More than any use of a model beyond what it was trained for. */
const MOST_TIMES_TRAINED = 8

/** Any model that writes can be told of tools; only some think aloud, and their templates show it. */
export function ggufCapabilities(
  engine: EngineCapabilities,
  facts: ModelFacts,
  { chatTemplate }: GgufFacts,
): EngineCapabilities {
  const tasks = tasksOf(facts)
  const writes = tasks.includes('chat')
  const reasoning = writes && chatTemplate !== undefined && reasoningFormatOf(chatTemplate) !== undefined
  return { ...engine, tasks, tools: writes, reasoning, parks: writes }
}

function tasksOf({ purpose }: ModelFacts): TaskKind[] {
  return purpose === 'embedding' || purpose === 'rerank' ? [purpose] : ['chat', 'completion']
}

/**
 * @param engine its name @param library what knows architectures, with its version
 * @throws ModelyardError `unsupported` for other files and unknown architectures, `model_file_invalid` without a tokenizer
 */
export function requireGguf(
  { id }: ModelSpec,
  facts: ModelFacts,
  { engine, library }: { engine: string; library: string },
): GgufFacts {
  if (facts.gguf === undefined || facts.path === undefined) {
    throw new ModelyardError('unsupported', `Model "${id}" has no GGUF file; ${engine} runs nothing else.`)
  }
  const { architecture } = facts.gguf
  if (!KNOWN_ARCHITECTURES.has(architecture)) {
    throw new ModelyardError(
      'unsupported',
      `Model "${id}" is of the architecture "${architecture}", which ${library} does not know. Choose another model, or an engine that knows it.`,
      { details: { architecture } },
    )
  }
  if (facts.gguf.vocabularySize === 0) {
    throw new ModelyardError('model_file_invalid', `Model "${id}" has no tokenizer in its file.`)
  }
  return facts.gguf
}

/** The shape with the context that is asked for, else with the largest usual one that stays within the budget (M3). */
export function fittingShape(
  spec: ModelSpec,
  gguf: GgufFacts,
  host: HostFacts,
  {
    shape,
    footprint,
  }: { shape: (contextSize: number) => LoadShape; footprint: (shape: LoadShape) => Footprint },
): LoadShape {
  if (spec.context !== undefined) return shape(spec.context)
  const most = Math.min(gguf.contextLength, spec.defaultContext ?? DEFAULT_CONTEXT)
  return shape(fittingContext(most, (contextSize) => isWithin(footprint(shape(contextSize)), host)))
}

function isWithin(footprint: Footprint, { budget = {} }: HostFacts): boolean {
  return Object.entries(footprint).every(([domain, terms]) => {
    const limit = budget[domain as MemoryDomain]
    return terms === undefined || limit === undefined || footprintTotal(terms) <= limit
  })
}

/** Contexts that would eat memory without an error are refused, with the numbers. @throws config_invalid */
export function requireSane(spec: ModelSpec, gguf: GgufFacts, shape: LoadShape): void {
  const { contextSize, slots } = shape
  const most = Math.max(gguf.contextLength * MOST_TIMES_TRAINED, DEFAULT_CONTEXT)
  if (!Number.isInteger(contextSize) || contextSize < 1 || contextSize > most) {
    refuse(
      'context',
      `Model "${spec.id}": context must be from 1 to ${most} tokens (it was trained for ${gguf.contextLength}), not ${contextSize}.`,
    )
  }
  if (!Number.isInteger(slots) || slots < 1 || slots > LLAMA_LIMITS.slots) {
    refuse('slots', `Model "${spec.id}": slots must be from 1 to ${LLAMA_LIMITS.slots}, not ${slots}.`)
  }
  if (contextSize * slots > LLAMA_LIMITS.cells) {
    const bytes = contextSize * slots * kvBytesPerToken(gguf, shape.kvCacheType)
    refuse(
      'slots',
      `Model "${spec.id}": ${slots} slots of ${contextSize} tokens are ${contextSize * slots} cells and ${formatBytes(bytes)}; at most ${LLAMA_LIMITS.cells} cells are possible.`,
    )
  }
}

function refuse(param: 'context' | 'slots', message: string): never {
  throw new ModelyardError('config_invalid', message, { details: { param } })
}

/** Mapped pages are shared by all processes that load this file; what lies on a GPU or was repacked is not. */
export function sharedWeights(
  spec: ModelSpec,
  facts: ModelFacts,
  gguf: GgufFacts,
  { gpuShare, isMapped }: { gpuShare: number; isMapped: boolean },
): SharedPages | undefined {
  if (!isMapped || spec.device.memoryLock) return undefined
  const bytes = Math.round(gguf.tensorBytes * (1 - gpuShare))
  return bytes === 0 ? undefined : { key: facts.contentId, domain: 'ram', bytes }
}
