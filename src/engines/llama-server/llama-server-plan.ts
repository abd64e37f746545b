import { ModelyardError } from '../../base/errors.ts'
import { devicesAmong, type Footprint } from '../../host/memory.ts'
import type { GgufFacts, ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type HostFacts, type LoadPlan } from '../engine.ts'
import { footprintOf, type LoadShape } from '../llama-cpp/footprint.ts'
import {
  fittingShape,
  ggufCapabilities,
  requireGguf,
  requireSane,
  sharedWeights,
} from '../llama-cpp/gguf-plan.ts'
import { hashOf, threadsOf } from '../planning.ts'
import { gpuPlaceOf, requireKnownDevice, usableDevices } from '../llama-cpp/gpu-layers.ts'
import { batchSizeFor } from './batch-size.ts'
import { llamaServerOptions, type LlamaServerOptions } from './llama-server-options.ts'
import { speedKey } from './prefill-speeds.ts'

const MIB = 1024 ** 2

/** The program without a model: 45 MiB where it is compiled, 70 inside a Python program, measured with its libraries. */
const PROCESS_BASE = 72 * MIB
/** Bytes of the tokenizer's lists and of a slot's sampler for each token of the vocabulary. */
const TOKENIZER_COST = 420
const SAMPLER_COST = 24

export const LLAMA_SERVER_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: ['chat', 'completion', 'embedding', 'rerank'],
  structuredOutput: true,
  grammar: true,
  tools: true,
  logprobs: true,
  reasoning: true,
  images: true,
  prefill: true,
  infill: true,
  tokenInput: true,
  echo: true,
  logitBias: true,
  tokenizes: true,
  namesStops: true,
  keepsPrefixes: true,
  parks: true,
}

/** Bytes of files that are loaded beside the model. */
export interface CompanionSizes {
  mmproj: number
  draft: number
}

export interface PlanConditions {
  /** Tokens a second in prefill, where it was measured here, by {@link speedKey}. */
  measuredSpeed: (key: string) => number | undefined
  companions: CompanionSizes
}

/** What a load with these options needs and can do; pure. @throws ModelyardError `unsupported`, `model_file_invalid`, `config_invalid` */
export function planLlamaServer(
  spec: ModelSpec,
  facts: ModelFacts,
  host: HostFacts,
  { measuredSpeed, companions }: PlanConditions,
): LoadPlan {
  const gguf = requireGguf(spec, facts, { engine: 'llama-server', library: 'this llama.cpp' })
  const options = llamaServerOptions(spec)
  requireKnownDevice(spec, host)
  const footprint = (shape: LoadShape): Footprint => withCompanions(gguf, shape, companions)
  const threads = threadsOf(spec, host)
  const onGpu = usableDevices(spec, host).length > 0
  const speed = measuredSpeed(speedKey(facts.contentId, threads, onGpu))
  const shape = fittingShape(spec, gguf, host, {
    shape: (contextSize) => shapeOf(spec, facts, gguf, host, options, { contextSize, measuredSpeed: speed }),
    footprint,
  })
  requireSane(spec, gguf, shape)
  requireTrainedFor(spec, gguf, shape)
  const { gpuShare } = shape
  const shared = sharedWeights(spec, facts, gguf, { gpuShare, isMapped: options.memoryMap !== false })
  const planned = footprint(shape)
  return {
    engine: 'llama-server',
    model: spec.id,
    key: keyOf(spec, facts, { shape, threads, options }),
    contextSize: shape.contextSize,
    slots: shape.slots,
    threads,
    footprint: planned,
    takenLater: { ram: planned.ram?.compute ?? 0 },
    ...(shared !== undefined && { sharedWeights: shared }),
    loadBytes: gguf.tensorBytes + companions.mmproj + companions.draft,
    capabilities: {
      ...ggufCapabilities(LLAMA_SERVER_CAPABILITIES, facts, gguf),
      images: options.mmproj !== undefined,
      parks: facts.purpose === 'generation' && options.mmproj === undefined,
    },
    spec,
    facts,
  }
}

/** The server cuts its slots to what the model says it was trained for, and reserves memory for all that was asked. @throws config_invalid */
function requireTrainedFor(
  { id }: ModelSpec,
  { contextLength }: GgufFacts,
  { contextSize }: LoadShape,
): void {
  if (contextSize <= contextLength) return
  const message = `Model "${id}": llama-server gives no conversation more than the ${contextLength} tokens that the model was trained for, not ${contextSize}; set context to ${contextLength} at most, or use the engine node-llama-cpp.`
  throw new ModelyardError('config_invalid', message, { details: { param: 'context' } })
}

/** Each thing once, as it is when nobody names it, too: whoever writes a default down has the same load. */
function keyOf(
  { device }: ModelSpec,
  { contentId }: ModelFacts,
  { shape, threads, options }: { shape: LoadShape; threads: number; options: LlamaServerOptions },
): string {
  // A batch that fits the measured speed better is no other load; one that somebody names is.
  const { batchSize, ...load } = shape
  // The shape has these as they were decided.
  const { flashAttention, kvCacheType, ...named } = options
  const others = { fullWindow: true, memoryMap: true, lora: [], ...named }
  return hashOf(['llama-server', contentId, load, threads, others, device.gpu, device.memoryLock])
}

interface ShapeConditions {
  contextSize: number
  measuredSpeed: number | undefined
}

function shapeOf(
  spec: ModelSpec,
  facts: ModelFacts,
  gguf: GgufFacts,
  host: HostFacts,
  options: LlamaServerOptions,
  { contextSize, measuredSpeed }: ShapeConditions,
): LoadShape {
  const pooled = facts.purpose !== 'generation'
  const onGpu = usableDevices(spec, host).length > 0
  const wanted = options.batchSize ?? batchSizeFor(gguf, { cores: host.cores, onGpu, measuredSpeed })
  const shape: LoadShape = {
    contextSize,
    slots: pooled ? 1 : spec.slots,
    // A text that is pooled is evaluated in one batch: attention that looks both ways, and pooling, need it whole.
    batchSize: pooled ? contextSize : Math.min(wanted, contextSize),
    kvCacheType: options.kvCacheType ?? 'f16',
    flashAttention: options.flashAttention ?? 'auto',
    gpuShare: 0,
  }
  const place = gpuPlaceOf(spec, gguf, shape, host)
  return place === undefined ? shape : { ...shape, gpuShare: place.share, device: place.device }
}

function withCompanions(gguf: GgufFacts, shape: LoadShape, { mmproj, draft }: CompanionSizes): Footprint {
  const base = PROCESS_BASE + gguf.vocabularySize * (TOKENIZER_COST + shape.slots * SAMPLER_COST)
  const footprint = footprintOf(gguf, shape, base)
  const onDevice = shape.device ?? 'ram'
  const terms = footprint[onDevice]
  if (terms === undefined || mmproj + draft === 0) return footprint
  // A projector works on the widest image at once; a draft has a context of its own: each as much again, at least.
  return {
    ...footprint,
    [onDevice]: {
      ...terms,
      weights: terms.weights + mmproj + draft,
      compute: terms.compute + Math.ceil(mmproj / 2),
      context: terms.context + Math.ceil(draft / 2),
    },
  }
}

/** Share of the layers on the GPU, found again from the plan alone. */
export function gpuShareOfPlan({ footprint }: LoadPlan): number {
  const [device] = devicesAmong(footprint)
  const gpu = device === undefined ? undefined : footprint[device]
  const weights = (footprint.ram?.weights ?? 0) + (gpu?.weights ?? 0)
  return gpu === undefined ? 0 : gpu.weights / Math.max(1, weights)
}
