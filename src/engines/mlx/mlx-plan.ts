import { ModelyardError } from '../../base/errors.ts'
import { footprintTotal, type Footprint } from '../../host/memory.ts'
import type { ModelFacts, SafetensorsFacts, VisionFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { reasoningFormatOf } from '../../templates/answer/reasoning-format.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type HostFacts, type LoadPlan } from '../engine.ts'
import { hashOf, threadsOf } from '../planning.ts'
import { mlxOptions } from './mlx-options.ts'
import { VISION_BASE, visionCompute, wantedVision } from './mlx-vision.ts'

export const MLX_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: ['chat', 'completion'],
  tools: true,
  structuredOutput: true,
  grammar: true,
  logprobs: true,
  reasoning: true,
  images: true,
  prefill: true,
  tokenInput: true,
  echo: true,
  logitBias: true,
  tokenizes: true,
  namesStops: true,
  keepsPrefixes: true,
}

const MIB = 1024 ** 2
const DEFAULT_CONTEXT = 8192
/** Python with mlx, mlx_lm and a tokenizer. */
const BASE = 140 * MIB
/** Buffers while a prompt of 512 tokens is evaluated, for each token of the vocabulary and without. */
const COMPUTE = 16 * MIB
const COMPUTE_PER_TOKEN_ID = 512 * 4
const MOST_SLOTS = 256

/** Bytes of the cache for so many tokens. */
export function cacheBytes(
  { layers, kvHeads, headLength, numberBytes }: SafetensorsFacts,
  tokens: number,
): number {
  return 2 * layers * kvHeads * headLength * numberBytes * tokens
}

/** @throws ModelyardError `unsupported` for what is no folder with safetensors, `config_invalid` */
export function planMlx(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
  const options = mlxOptions(spec)
  const { safetensors } = facts
  if (safetensors === undefined || facts.path === undefined) {
    throw new ModelyardError(
      'unsupported',
      `Model "${spec.id}" is no folder with safetensors and a config.json; mlx runs nothing else.`,
    )
  }
  if (facts.purpose !== 'generation') {
    throw new ModelyardError(
      'unsupported',
      `Model "${spec.id}" has safetensors for ${facts.purpose}; mlx runs models that write text. Take the same model as GGUF or ONNX files.`,
    )
  }
  const vision = wantedVision(spec, safetensors, options)
  const contextSize = contextOf(spec, { facts: safetensors, vision }, host)
  requireSane(spec, contextSize, safetensors)
  const threads = threadsOf(spec, host)
  const parts = ['mlx', facts.contentId, contextSize, spec.slots, threads, options]
  const { chatTemplate } = safetensors
  const footprint = footprintOf({ facts: safetensors, vision }, contextSize * spec.slots)
  const reasons = chatTemplate !== undefined && reasoningFormatOf(chatTemplate) !== undefined
  return {
    engine: 'mlx',
    model: spec.id,
    key: hashOf(parts),
    contextSize,
    slots: spec.slots,
    threads,
    footprint,
    ...(vision !== undefined && {
      takenLater: { ram: (footprint.ram?.context ?? 0) + (footprint.ram?.compute ?? 0) },
    }),
    loadBytes: safetensors.weightBytes,
    capabilities: {
      ...MLX_CAPABILITIES,
      reasoning: reasons,
      images: vision !== undefined,
      // The generator of models that see keeps no beginnings.
      keepsPrefixes: vision === undefined,
    },
    spec,
    facts,
  }
}

/** What is loaded: the model, and its part that sees. */
interface Loaded {
  facts: SafetensorsFacts
  /** Undefined = it is not wanted, or there is none. */
  vision: VisionFacts | undefined
}

/** The context is there twice at most: in use, and as kept beginnings, which mlx_vlm's server is not asked for. */
function footprintOf({ facts, vision }: Loaded, tokens: number): Footprint {
  const context = cacheBytes(facts, tokens)
  const compute = COMPUTE + COMPUTE_PER_TOKEN_ID * facts.vocabularySize
  if (vision === undefined) {
    const weights = facts.weightBytes - (facts.vision?.weightBytes ?? 0)
    return { ram: { weights, context: 2 * context, compute, base: BASE } }
  }
  const seen = compute + visionCompute(vision, tokens)
  return { ram: { weights: facts.weightBytes, context, compute: seen, base: VISION_BASE } }
}

/** What was asked for, else the largest usual one that stays within the budget (M3). */
function contextOf({ context, defaultContext, slots }: ModelSpec, loaded: Loaded, host: HostFacts): number {
  if (context !== undefined) return context
  let size = Math.min(loaded.facts.contextLength, defaultContext ?? DEFAULT_CONTEXT)
  const fits = (): boolean => {
    const { ram } = footprintOf(loaded, size * slots)
    const limit = host.budget?.ram
    return ram === undefined || limit === undefined || footprintTotal(ram) <= limit
  }
  while (size > 1024 && !fits()) size = Math.floor(size / 2)
  return size
}

function requireSane(
  { id, slots }: ModelSpec,
  contextSize: number,
  { contextLength }: SafetensorsFacts,
): void {
  if (contextSize > contextLength) {
    throw new ModelyardError(
      'config_invalid',
      `Model "${id}": context must not be above ${contextLength} tokens, which it was trained for, not ${contextSize}.`,
      { details: { param: 'context' } },
    )
  }
  if (slots <= MOST_SLOTS) return
  throw new ModelyardError(
    'config_invalid',
    `Model "${id}": slots must be from 1 to ${MOST_SLOTS}, not ${slots}.`,
    {
      details: { param: 'slots' },
    },
  )
}
