import { platform } from 'node:os'
import type { GgufFacts } from '../../models/model-facts.ts'
import { ModelyardError } from '../../base/errors.ts'
import { devicesAmong, type MemoryDomain } from '../../host/memory.ts'
import type { DeviceOptions, ModelSpec } from '../../models/model-spec.ts'
import type { HostFacts, LoadPlan } from '../engine.ts'
import { reservedBytes, contextBytes, type LoadShape } from './footprint.ts'

/** Part of a device's free memory that is left alone: drivers and desktops need it. */
const USABLE = 0.9

/** Where layers go, and which share of them. */
export interface GpuPlace {
  device: MemoryDomain
  share: number
}

/**
 * The device that takes the largest share of a model's layers, of those the one with most free memory; undefined where there is none, and
 * where memory is unified (then all is `ram`).
 */
export function gpuPlaceOf(
  spec: ModelSpec,
  gguf: GgufFacts,
  shape: LoadShape,
  host: HostFacts,
): GpuPlace | undefined {
  let best: (GpuPlace & { free: number }) | undefined
  for (const device of usableDevices(spec, host)) {
    const available = host.memory[device]?.available ?? 0
    const free = Math.min(available, host.free?.[device] ?? available)
    const share = gpuShare(spec.device, gguf, shape, available)
    if (best === undefined || share > best.share || (share === best.share && free > best.free))
      best = { device, share, free }
  }
  return best === undefined || best.share === 0 ? undefined : { device: best.device, share: best.share }
}

/**
 * The devices that the model may use: all, or the one that is named by its domain (`gpu:1`) or by a part of its name. In the server's own
 * process llama.cpp would take all that it sees, so that of several none can be chosen there.
 */
export function usableDevices(
  { device: { gpu }, isolation }: ModelSpec,
  { memory }: HostFacts,
): MemoryDomain[] {
  const devices = devicesAmong(memory)
  if (gpu === false || (isolation === 'none' && devices.length > 1)) return []
  if (typeof gpu !== 'string' || ANY_DEVICE.has(gpu)) return devices
  const name = gpu.toLowerCase()
  return devices.filter((domain) => domain === name || memory[domain]?.source.toLowerCase().includes(name))
}

/** Words that mean any device: of any kind, or of one library. */
const ANY_DEVICE: ReadonlySet<string> = new Set(['auto', 'cuda', 'vulkan', 'metal'])

/** @throws ModelyardError `config_invalid` when devices are here and none of them is the one that is demanded */
export function requireKnownDevice(spec: ModelSpec, host: HostFacts): void {
  const { gpu } = spec.device
  const devices = devicesAmong(host.memory)
  if (gpu === false || gpu === 'auto' || devices.length === 0 || usableDevices(spec, host).length > 0) return
  const here = devices.map((domain) => `${domain} (${host.memory[domain]?.source})`).join(', ')
  const message =
    spec.isolation === 'none'
      ? `Model "${spec.id}" runs in the server itself (isolation: none), where none of several devices can be chosen: ${here}. Use isolation: worker, or device.gpu: false.`
      : `Model "${spec.id}" demands the device "${gpu}", and there is none of that name. Here are ${here}.`
  throw new ModelyardError('config_invalid', message, { details: { param: 'device.gpu', devices } })
}

function gpuShare(
  { gpuLayers }: DeviceOptions,
  gguf: GgufFacts,
  shape: LoadShape,
  available: number,
): number {
  if (gpuLayers !== undefined) return Math.min(1, gpuLayers / layersOf(gguf))
  const perLayer = (gguf.tensorBytes + contextBytes(gguf, shape)) / layersOf(gguf)
  const room = available * USABLE - reservedBytes(gguf, shape)
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
  if (isUnified(system) || gpuLayers === 0 || devicesAmong(footprint).length > 0) return undefined
  return `${demands} no free memory of one is known, which counts as none; set it to "auto" or false. modelyard doctor tells what was read.`
}
