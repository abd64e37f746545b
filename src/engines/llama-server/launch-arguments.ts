import { devicesAmong } from '../../host/memory.ts'
import type { LoadPlan } from '../engine.ts'
import { isUnified, layersOnGpu } from '../llama-cpp/gpu-layers.ts'
import { llamaServerOptions } from './llama-server-options.ts'
import { gpuShareOfPlan } from './llama-server-plan.ts'
import { EARLIER_FLAGS, type ReleaseFlags } from './release-flags.ts'

export interface LaunchConditions {
  /** Cores of the machine: all of them may evaluate prompts. */
  cores: number
  batchSize: number
  /** Folder for saved slots. */
  slotFolder: string
  /** Default: those of earlier releases. */
  flags?: ReleaseFlags
}

/** Contexts are allocated in steps of 256 tokens for each slot. */
const STEP = 256

/**
 * The command line of a load. The port is any free one (0), the key is in the environment. The server's own cache of old prompts is off:
 * it would hold memory that nobody counts, and is never asked for slots that are named.
 */
export function launchArguments(
  plan: LoadPlan,
  { cores, batchSize, slotFolder, flags = EARLIER_FLAGS }: LaunchConditions,
): string[] {
  const { contextSize, slots, threads, facts, spec } = plan
  const options = llamaServerOptions(spec)
  const { kvCacheType = 'f16' } = options
  const pooled = facts.purpose !== 'generation'
  const perSlot = Math.ceil(contextSize / STEP) * STEP
  const batch = String(pooled ? perSlot : batchSize)
  return [
    ['-m', facts.path ?? '', '--alias', plan.model, '--host', '127.0.0.1', '--port', '0'],
    ['-c', String(perSlot * slots), '-np', String(slots), '-b', batch, '-ub', batch],
    ['-t', String(threads), '-tb', String(Math.max(threads, spec.device.threads ?? cores))],
    ['-ngl', String(gpuLayersOf(plan)), '--cache-ram', '0', '--no-warmup', '--no-webui'],
    ['-fa', flashAttentionOf(options.flashAttention), '-ctk', kvCacheType, '-ctv', kvCacheType],
    options.fullWindow === false ? [] : ['--swa-full'],
    memoryArguments({ mapped: options.memoryMap !== false, locked: spec.device.memoryLock }, flags),
    (options.lora ?? []).flatMap(({ path, scale = 1 }) => ['--lora-scaled', `${path}:${scale}`]),
    options.mmproj === undefined ? [] : ['--mmproj', options.mmproj],
    draftArguments(options.draft, flags),
    facts.purpose === 'embedding' ? ['--embeddings'] : [],
    facts.purpose === 'rerank' ? ['--rerank'] : [],
    pooled ? [] : ['--slot-save-path', slotFolder],
  ].flat()
}

function flashAttentionOf(wanted: boolean | 'auto' = 'auto'): string {
  return wanted === 'auto' ? 'auto' : wanted ? 'on' : 'off'
}

function memoryArguments(
  { mapped, locked }: { mapped: boolean; locked: boolean },
  { hasLoadMode }: ReleaseFlags,
): string[] {
  if (mapped && !locked) return []
  if (hasLoadMode) return ['--load-mode', !locked ? 'none' : mapped ? 'mmap+mlock' : 'mlock']
  return [...(mapped ? [] : ['--no-mmap']), ...(locked ? ['--mlock'] : [])]
}

function draftArguments(
  draft: { path: string; tokens?: number } | undefined,
  { draftUse, draftTokens }: ReleaseFlags,
): string[] {
  if (draft === undefined) return []
  const most = draft.tokens === undefined ? [] : [draftTokens, String(draft.tokens)]
  return ['-md', draft.path, ...draftUse, ...most]
}

/** A number where the plan has one; where memory is unified all layers, because the plan sees no device. */
function gpuLayersOf(plan: LoadPlan): number {
  const { spec, facts, footprint } = plan
  if (spec.device.gpu === false || facts.gguf === undefined) return 0
  if (devicesAmong(footprint).length > 0) return layersOnGpu(gpuShareOfPlan(plan), facts.gguf)
  return isUnified() ? (spec.device.gpuLayers ?? facts.gguf.layers + 1) : 0
}
