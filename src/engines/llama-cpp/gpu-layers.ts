import { platform } from 'node:os'
import type { GgufFacts } from '../../models/model-facts.ts'
import type { DeviceOptions } from '../../models/model-spec.ts'
import type { HostFacts, LoadPlan } from '../engine.ts'
import { reservedBytes, contextBytes, type LoadShape } from './footprint.ts'

/** Part of a device's free memory that is left alone: drivers and desktops need it. */
const USABLE = 0.9

/**
 * Share of a model's layers that goes on the first GPU: what is asked for, else as many as fit. 0 where there is no GPU, and where
 * memory is unified (then all is `ram`).
 */
export function gpuShareOf(
  { gpu, gpuLayers }: DeviceOptions,
  gguf: GgufFacts,
  shape: LoadShape,
  host: HostFacts,
): number {
  const device = host.memory['gpu:0']
  if (gpu === false || device === undefined) return 0
  if (gpuLayers !== undefined) return Math.min(1, gpuLayers / layersOf(gguf))
  const perLayer = (gguf.tensorBytes + contextBytes(gguf, shape)) / layersOf(gguf)
  const room = device.available * USABLE - reservedBytes(gguf, shape)
  const layers = Math.min(layersOf(gguf), Math.max(0, Math.floor(room / Math.max(1, perLayer))))
  return layers / layersOf(gguf)
}

/** How many layers that share is, the output counted as one. */
export function layersOnGpu(share: number, gguf: GgufFacts): number {
  return Math.round(share * layersOf(gguf))
}

function layersOf({ layers }: GgufFacts): number {
  return layers + 1
}

/** Whether GPU and programs share the memory of this machine, so that no device has any of its own. */
export function isUnified(system: NodeJS.Platform = platform()): boolean {
  return system === 'darwin'
}

/** Why a plan that demands a GPU cannot be loaded; undefined when it can. What has no readable room on a device is never put there (R5). */
export function gpuRefusal(
  { model, spec, footprint }: Pick<LoadPlan, 'model' | 'spec' | 'footprint'>,
  usable: boolean,
  system: NodeJS.Platform = platform(),
): string | undefined {
  const { gpu, gpuLayers } = spec.device
  if (gpu === false || gpu === 'auto') return undefined
  const demands = `Model "${model}" demands a GPU (device.gpu), and`
  if (!usable) return `${demands} none can be used here; set it to "auto" or false.`
  if (isUnified(system) || gpuLayers === 0 || footprint['gpu:0'] !== undefined) return undefined
  return `${demands} no free memory of one is known, which counts as none; set it to "auto" or false. modelyard doctor tells what was read.`
}
