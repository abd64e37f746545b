import { ModelyardError } from '../../base/errors.ts'
import { footprintTotal, type Footprint } from '../../host/memory.ts'
import type { ModelFacts, SafetensorsFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { reasoningFormatOf } from '../../templates/answer/reasoning-format.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type HostFacts, type LoadPlan } from '../engine.ts'
import { hashOf, threadsOf } from '../planning.ts'
import { mlxOptions } from './mlx-options.ts'

export const MLX_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: ['chat', 'completion'],
  tools: true,
  structuredOutput: true,
  grammar: true,
  logprobs: true,
  reasoning: true,
  prefill: true,
  tokenInput: true,
  echo: true,
  logitBias: true,
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
  const contextSize = contextOf(spec, safetensors, host)
  requireSane(spec, contextSize, safetensors)
  const threads = threadsOf(spec, host)
  const parts = ['mlx', facts.contentId, contextSize, spec.slots, threads, options]
  const { chatTemplate } = safetensors
  const reasons = chatTemplate !== undefined && reasoningFormatOf(chatTemplate) !== undefined
  return {
    engine: 'mlx',
    model: spec.id,
    key: hashOf(parts),
    contextSize,
    slots: spec.slots,
    threads,
    footprint: footprintOf(safetensors, contextSize * spec.slots),
    loadBytes: safetensors.weightBytes,
    capabilities: { ...MLX_CAPABILITIES, reasoning: reasons },
    spec,
    facts,
  }
}

/** The context is there twice at most: in use, and as kept beginnings. */
function footprintOf(facts: SafetensorsFacts, tokens: number): Footprint {
  return {
    ram: {
      weights: facts.weightBytes,
      context: 2 * cacheBytes(facts, tokens),
      compute: COMPUTE + COMPUTE_PER_TOKEN_ID * facts.vocabularySize,
      base: BASE,
    },
  }
}

/** What was asked for, else the largest usual one that stays within the budget (M3). */
function contextOf(
  { context, defaultContext, slots }: ModelSpec,
  facts: SafetensorsFacts,
  host: HostFacts,
): number {
  if (context !== undefined) return context
  let size = Math.min(facts.contextLength, defaultContext ?? DEFAULT_CONTEXT)
  const fits = (): boolean => {
    const { ram } = footprintOf(facts, size * slots)
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
