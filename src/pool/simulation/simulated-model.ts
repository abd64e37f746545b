import type { EngineCapabilities, LoadPlan, SharedPages } from '../../engines/engine.ts'
import { NO_CAPABILITIES } from '../../engines/engine.ts'
import type { Footprint } from '../../host/memory.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { PoolModel } from '../pool-model.ts'

/** How a simulated model behaves; what is left out is small, quick and well-behaved. Bytes and milliseconds. */
export interface SimulatedModel {
  id: string
  /** Distinguishes plans of one model; another revision is another plan key. */
  revision?: number
  footprint: Footprint
  sharedWeights?: SharedPages
  /** Bytes of it that all simulated models share. Default 0. */
  programBytes?: number
  slots?: number
  contextSize?: number
  threads?: number
  minInstances?: number
  maxInstances?: number
  keepAlive?: number
  pinned?: boolean | 'soft'
  /** Models its runs ask for (P14). */
  uses?: readonly string[]
  loadTime?: number
  warmUpTime?: number
  unloadTime?: number
  /** What it really takes, as a part of what the plan says. Default 1. */
  reality?: number
  /** Probability that a load fails, that a run kills the worker. Default 0. */
  failing?: number
  crashing?: number
  /** Its slots can be written to disk. Default false. */
  parks?: boolean
  /** While they answer as well. Default false. */
  savesWhileAnswering?: boolean
  /** Whether they may be. Default true. */
  parking?: boolean
  contextBudget?: number
  /** Milliseconds a prompt's token takes, and bytes it takes on disk. */
  prefillPerToken?: number
  bytesPerToken?: number
}

const CAPABILITIES: EngineCapabilities = { ...NO_CAPABILITIES, tasks: ['chat'] }

/** The model as the pool sees it. */
export function poolModelOf(model: SimulatedModel): PoolModel {
  const { id, minInstances = 0, maxInstances = 1, keepAlive = 300_000, pinned = false } = model
  const { uses, parking = true, contextBudget } = model
  const plan = planOf(model)
  return {
    id,
    plan,
    minInstances,
    maxInstances,
    keepAlive,
    pinned,
    parking,
    ...(contextBudget === undefined ? {} : { contextBudget }),
    ...(uses === undefined ? {} : { uses }),
  }
}

function planOf(model: SimulatedModel): LoadPlan {
  const { id, revision = 0, footprint, sharedWeights, programBytes } = model
  const { slots = 4, contextSize = 4096, threads = 1 } = model
  let loadBytes = 0
  for (const terms of Object.values(footprint)) loadBytes += terms?.weights ?? 0
  return {
    engine: 'simulated',
    model: id,
    key: `${id}@${revision}`,
    contextSize,
    slots,
    threads,
    footprint,
    ...(sharedWeights === undefined ? {} : { sharedWeights }),
    ...(programBytes === undefined ? {} : { programBytes }),
    loadBytes,
    capabilities: CAPABILITIES,
    spec: specOf(model),
    facts: { format: 'none', fileSize: 0, contentId: id, purpose: 'generation' },
  }
}

function specOf(model: SimulatedModel): ModelSpec {
  const { id, slots = 4, minInstances = 0, maxInstances = 1, keepAlive = 300_000, pinned = false } = model
  return {
    id,
    slots,
    minInstances,
    maxInstances,
    keepAlive,
    pinned,
    prepare: 'on-demand',
    isolation: 'worker',
    device: { gpu: false, memoryLock: false },
    aliases: [],
    defaults: {},
    engineOptions: {},
  }
}
