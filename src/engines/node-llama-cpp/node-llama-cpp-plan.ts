import { devicesAmong } from '../../host/memory.ts'
import type { GgufFacts, ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { EngineCapabilities, HostFacts, LoadPlan } from '../engine.ts'
import { NO_CAPABILITIES } from '../engine.ts'
import { footprintOf, PROGRAM_BYTES, workerBytes, type LoadShape } from '../llama-cpp/footprint.ts'
import {
  fittingShape,
  ggufCapabilities,
  requireGguf,
  requireSane,
  sharedWeights,
} from '../llama-cpp/gguf-plan.ts'
import { hashOf, threadsOf } from '../planning.ts'
import { gpuPlaceOf, requireKnownDevice } from '../llama-cpp/gpu-layers.ts'
import { evaluationShape, type EvaluationPlace } from './evaluation-shape.ts'
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
  promptLogprobs: true,
  logitBias: true,
  tokenizes: true,
  namesStops: true,
  keepsPrefixes: true,
  parks: true,
}

const LIBRARY = { engine: 'node-llama-cpp', library: 'node-llama-cpp 3.21' }

/** What a load with these options needs and can do; pure. @throws ModelyardError `unsupported`, `model_file_invalid`, `config_invalid` */
export function planLoad(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
  const gguf = requireGguf(spec, facts, LIBRARY)
  const options = nodeLlamaCppOptions(spec)
  requireKnownDevice(spec, host)
  const footprintWith = (shape: LoadShape): LoadPlan['footprint'] =>
    footprintOf(gguf, shape, workerBytes(gguf, shape))
  const shape = fittingShape(spec, gguf, host, {
    shape: (contextSize) => shapeOf(spec, facts, gguf, host, options, contextSize),
    footprint: footprintWith,
  })
  requireSane(spec, gguf, shape)
  const threads = threadsOf(spec, host)
  const { gpuShare } = shape
  const shared = sharedWeights(spec, facts, gguf, { gpuShare, isMapped: options.memoryMap !== false })
  const footprint = footprintWith(shape)
  return {
    engine: 'node-llama-cpp',
    model: spec.id,
    key: keyOf(spec, facts, { shape, threads, options }),
    contextSize: shape.contextSize,
    slots: shape.slots,
    threads,
    ...promptThreadsOf(spec, facts, host, threads),
    footprint,
    // The KV cache is cleared when it is made, so all of it is there at once; what evaluating needs comes with the first long prompt.
    takenLater: { ram: footprint.ram?.compute ?? 0 },
    ...(shared !== undefined && { sharedWeights: shared }),
    programBytes: PROGRAM_BYTES,
    loadBytes: gguf.tensorBytes,
    capabilities: ggufCapabilities(NODE_LLAMA_CPP_CAPABILITIES, facts, gguf),
    spec,
    facts,
  }
}

/** Each thing once, as it is when nobody names it, too: whoever writes a default down has the same load. */
function keyOf(
  { device }: ModelSpec,
  { contentId }: ModelFacts,
  { shape, threads, options }: { shape: LoadShape; threads: number; options: NodeLlamaCppOptions },
): string {
  // The shape has them as they were decided.
  const { batchSize, flashAttention, kvCacheType, ...named } = options
  const others = { fullWindow: true, memoryMap: true, checkTensors: false, lora: [], ...named }
  return hashOf(['node-llama-cpp', contentId, shape, threads, others, device.gpu, device.memoryLock])
}

/** Whoever names threads has them and no more; in this process models share one limit of the library, which no piece may lift. */
function promptThreadsOf(
  { device, isolation }: ModelSpec,
  { purpose }: ModelFacts,
  { cores }: HostFacts,
  threads: number,
): Pick<LoadPlan, 'promptThreads'> {
  const isFixed = device.threads !== undefined || isolation !== 'worker' || purpose !== 'generation'
  return isFixed || cores <= threads ? {} : { promptThreads: cores }
}

function shapeOf(
  spec: ModelSpec,
  facts: ModelFacts,
  gguf: GgufFacts,
  host: HostFacts,
  options: NodeLlamaCppOptions,
  contextSize: number,
): LoadShape {
  const { purpose } = facts
  const room = { contextSize, slots: purpose === 'generation' ? spec.slots : 1 }
  const shapeOn = (place: EvaluationPlace): LoadShape => ({
    ...evaluationShape(room, { purpose, place }, options),
    gpuShare: 0,
  })
  const onGpu = shapeOn('gpu')
  const place = gpuPlaceOf(spec, gguf, onGpu, host)
  return place === undefined
    ? shapeOn('processor')
    : { ...onGpu, gpuShare: place.share, device: place.device }
}

/** What the engine is told of a plan, found again from the plan alone: it may have crossed to another process. */
export function shapeOfPlan({ contextSize, slots, spec, facts, footprint }: LoadPlan): LoadShape {
  const options = nodeLlamaCppOptions(spec)
  const [device] = devicesAmong(footprint)
  const gpu = device === undefined ? undefined : footprint[device]
  const weights = (footprint.ram?.weights ?? 0) + (gpu?.weights ?? 0)
  const place = gpu === undefined ? 'processor' : 'gpu'
  return {
    ...evaluationShape({ contextSize, slots }, { purpose: facts.purpose, place }, options),
    gpuShare: gpu === undefined ? 0 : gpu.weights / Math.max(1, weights),
    ...(device !== undefined && { device }),
  }
}
