import { createHash } from 'node:crypto'
import { formatBytes } from '../../base/bytes.ts'
import { ModelyardError } from '../../base/errors.ts'
import { footprintTotal, type Footprint, type MemoryDomain } from '../../host/memory.ts'
import type { GgufFacts, ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { TaskKind } from '../../tasks/task.ts'
import { reasoningFormatOf } from '../../templates/answer/reasoning-format.ts'
import type { EngineCapabilities, HostFacts, LoadPlan, SharedWeights } from '../engine.ts'
import { NO_CAPABILITIES } from '../engine.ts'
import { fittingContext } from './fitting-context.ts'
import { footprintOf, kvBytesPerToken, type LoadShape } from './footprint.ts'
import { gpuShareOf } from './gpu-layers.ts'
import { LLAMA_LIMITS } from './llama-limits.ts'
import { KNOWN_ARCHITECTURES } from './known-architectures.ts'
import { nodeLlamaCppOptions, type NodeLlamaCppOptions } from './node-llama-cpp-options.ts'

export const NODE_LLAMA_CPP_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: ['chat', 'completion', 'embedding', 'rerank'],
  structuredOutput: true,
  grammar: true,
  tools: true,
  logprobs: true,
  reasoning: true,
  prefill: true,
  infill: true,
  tokenInput: true,
  echo: true,
  logitBias: true,
}

const DEFAULT_CONTEXT = 8192
/** More than any use of a model beyond what it was trained for. */
const MOST_TIMES_TRAINED = 8

/** What a load with these options needs and can do; pure. @throws ModelyardError `unsupported`, `model_file_invalid`, `config_invalid` */
export function planLoad(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
  const gguf = requireGguf(spec, facts)
  const options = nodeLlamaCppOptions(spec)
  const shape = loadShape(spec, facts, gguf, host, options)
  requireSane(spec, gguf, shape)
  const threads = threadsOf(spec, host)
  const shared = sharedWeights(spec, facts, gguf, shape, options)
  const footprint = footprintOf(gguf, shape)
  return {
    engine: 'node-llama-cpp',
    model: spec.id,
    key: planKey([facts.contentId, shape, threads, options, spec.device.gpu, spec.device.memoryLock]),
    contextSize: shape.contextSize,
    slots: shape.slots,
    threads,
    footprint,
    // The KV cache is cleared when it is made, so all of it is there at once; what evaluating needs comes with the first long prompt.
    takenLater: { ram: footprint.ram?.compute ?? 0 },
    ...(shared !== undefined && { sharedWeights: shared }),
    loadBytes: gguf.tensorBytes,
    capabilities: capabilitiesOf(facts, gguf),
    spec,
    facts,
  }
}

/** Any model that writes can be told of tools; only some think aloud, and their templates show it. */
function capabilitiesOf(facts: ModelFacts, { chatTemplate }: GgufFacts): EngineCapabilities {
  const tasks = tasksOf(facts)
  const writes = tasks.includes('chat')
  const reasoning = writes && chatTemplate !== undefined && reasoningFormatOf(chatTemplate) !== undefined
  return { ...NODE_LLAMA_CPP_CAPABILITIES, tasks, tools: writes, reasoning }
}

function planKey(parts: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(['node-llama-cpp', parts]))
    .digest('hex')
}

function requireGguf({ id }: ModelSpec, facts: ModelFacts): GgufFacts {
  if (facts.gguf === undefined || facts.path === undefined) {
    throw new ModelyardError(
      'unsupported',
      `Model "${id}" has no GGUF file; node-llama-cpp runs nothing else.`,
    )
  }
  const { architecture } = facts.gguf
  if (!KNOWN_ARCHITECTURES.has(architecture)) {
    throw new ModelyardError(
      'unsupported',
      `Model "${id}" is of the architecture "${architecture}", which node-llama-cpp 3.21 does not know. Choose another model, or an engine that knows it.`,
      { details: { architecture } },
    )
  }
  if (facts.gguf.vocabularySize === 0) {
    throw new ModelyardError('model_file_invalid', `Model "${id}" has no tokenizer in its file.`)
  }
  return facts.gguf
}

function tasksOf({ purpose }: ModelFacts): TaskKind[] {
  return purpose === 'generation' ? ['chat', 'completion'] : [purpose]
}

function threadsOf({ device }: ModelSpec, { cores }: HostFacts): number {
  return Math.max(1, Math.min(device.threads ?? cores - 1, cores))
}

function loadShape(
  spec: ModelSpec,
  facts: ModelFacts,
  gguf: GgufFacts,
  host: HostFacts,
  options: NodeLlamaCppOptions,
): LoadShape {
  const shapeWith = (contextSize: number): LoadShape => shapeOf(spec, facts, gguf, host, options, contextSize)
  if (spec.context !== undefined) return shapeWith(spec.context)
  const most = Math.min(gguf.contextLength, spec.defaultContext ?? DEFAULT_CONTEXT)
  const fits = (contextSize: number): boolean => isWithin(footprintOf(gguf, shapeWith(contextSize)), host)
  return shapeWith(fittingContext(most, fits))
}

/** Whether a footprint stays within the budget where there is one (M3). */
function isWithin(footprint: Footprint, { budget = {} }: HostFacts): boolean {
  return Object.entries(footprint).every(([domain, terms]) => {
    const limit = budget[domain as MemoryDomain]
    return terms === undefined || limit === undefined || footprintTotal(terms) <= limit
  })
}

function shapeOf(
  spec: ModelSpec,
  facts: ModelFacts,
  gguf: GgufFacts,
  host: HostFacts,
  options: NodeLlamaCppOptions,
  contextSize: number,
): LoadShape {
  const pooled = facts.purpose !== 'generation'
  const onGpu = spec.device.gpu !== false && host.memory['gpu:0'] !== undefined
  const shape: LoadShape = {
    contextSize,
    slots: pooled ? 1 : spec.slots,
    batchSize: batchSizeOf(pooled, onGpu, contextSize, options),
    kvCacheType: options.kvCacheType ?? 'f16',
    flashAttention: options.flashAttention ?? 'auto',
    gpuShare: 0,
  }
  return { ...shape, gpuShare: gpuShareOf(spec.device, gguf, shape, host) }
}

/** A text that is pooled (embedded, or judged with a query) is evaluated in one batch: attention that looks both ways, and pooling, need it whole. */
function batchSizeOf(
  pooled: boolean,
  onGpu: boolean,
  contextSize: number,
  { batchSize }: NodeLlamaCppOptions,
): number {
  return pooled ? contextSize : Math.min(batchSize ?? (onGpu ? 512 : 256), contextSize)
}

/** What the engine is told of a plan, found again from the plan alone: it may have crossed to another process. */
export function shapeOfPlan({ contextSize, slots, spec, facts, footprint }: LoadPlan): LoadShape {
  const options = nodeLlamaCppOptions(spec)
  const gpu = footprint['gpu:0']
  const weights = (footprint.ram?.weights ?? 0) + (gpu?.weights ?? 0)
  return {
    contextSize,
    slots,
    batchSize: batchSizeOf(facts.purpose !== 'generation', gpu !== undefined, contextSize, options),
    kvCacheType: options.kvCacheType ?? 'f16',
    flashAttention: options.flashAttention ?? 'auto',
    gpuShare: gpu === undefined ? 0 : gpu.weights / Math.max(1, weights),
  }
}

/** Contexts that would eat memory without an error are refused, with the numbers. @throws config_invalid */
function requireSane(spec: ModelSpec, gguf: GgufFacts, shape: LoadShape): void {
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
function sharedWeights(
  spec: ModelSpec,
  facts: ModelFacts,
  gguf: GgufFacts,
  shape: LoadShape,
  options: NodeLlamaCppOptions,
): SharedWeights | undefined {
  if (options.memoryMap === false || spec.device.memoryLock) return undefined
  const bytes = Math.round(gguf.tensorBytes * (1 - shape.gpuShare))
  return bytes === 0 ? undefined : { key: facts.contentId, domain: 'ram', bytes }
}
