import { ModelyardError } from '../../base/errors.ts'
import type { Footprint } from '../../host/memory.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { declaredFootprint } from '../declared-memory.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type HostFacts, type LoadPlan } from '../engine.ts'
import { hashOf, threadsOf } from '../planning.ts'
import { DEFAULT_SIZE, largestSize, pixelsOf, sizeProblem, usualSize, type ImageSize } from './image-size.ts'
import { sdServerOptions, type SdServerOptions } from './sd-server-options.ts'

const MIB = 2 ** 20

export const SD_SERVER_CAPABILITIES: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: ['image'],
  finishesAborted: true,
}

/** The program and its lists, a decoded picture, answers that it keeps for ten minutes. Not measured: no weights can be had here. */
const PROCESS_BASE = 150 * MIB
/**
 * Bytes of decoding for each pixel of the picture: 1,664 MiB for 512×512 (log of issue 1044 of stable-diffusion.cpp), 6,656 MiB for
 * 1024×1024 (log in its pull request 291). One tile is a fourth of 512×512.
 */
const DECODE_PER_PIXEL = 6656
const TILE_PIXELS = 256 * 256
/** Bytes of a step for each pixel: 560 MiB for 512×512 with SD 1.x, 2,577 MiB for 1024×1024 with Flux. As remembered from that project, not read again there and never measured here. */
const STEP_PER_PIXEL = 2600

/** Whether a picture of this size is decoded in tiles. */
export function isTiled(size: ImageSize, { vaeTiling = 'auto' }: SdServerOptions): boolean {
  return vaeTiling === 'auto' ? pixelsOf(size) > pixelsOf(DEFAULT_SIZE) : vaeTiling
}

/** What a load needs and can do; pure. @throws ModelyardError `unsupported`, `config_invalid` */
export function planSdServer(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
  if (facts.purpose !== 'image' || facts.path === undefined) {
    const message = `Model "${spec.id}" is no file with a diffusion model (GGUF or safetensors); the engine sd-server runs nothing else.`
    throw new ModelyardError('unsupported', message)
  }
  const options = sdServerOptions(spec)
  requireSizes(spec, options)
  const threads = threadsOf(spec, host)
  const compute = computeBytes(options)
  const parts = ['sd-server', facts.contentId, threads, options]
  return {
    engine: 'sd-server',
    model: spec.id,
    key: hashOf(parts),
    // Texts are cut into pieces of what their encoder takes: none is too long.
    contextSize: 1,
    // The program has one context, and makes one picture after the other.
    slots: 1,
    threads,
    footprint: footprintOf(facts, options, compute),
    ...(options.memory === undefined && { takenLater: { ram: compute } }),
    loadBytes: facts.fileSize,
    capabilities: SD_SERVER_CAPABILITIES,
    spec,
    facts,
  }
}

function footprintOf({ fileSize }: ModelFacts, { memory }: SdServerOptions, compute: number): Footprint {
  if (memory !== undefined) return declaredFootprint(memory)
  return { ram: { weights: fileSize, context: 0, compute, base: PROCESS_BASE } }
}

/** Steps and decoding come one after the other, and each frees what it took: the larger counts, of the largest picture. */
function computeBytes(options: SdServerOptions): number {
  const { vaeTiling = 'auto' } = options
  const largest = pixelsOf(largestSize(options))
  const whole = vaeTiling === 'auto' ? Math.min(largest, pixelsOf(DEFAULT_SIZE)) : largest
  const decoded = vaeTiling === true ? Math.min(largest, TILE_PIXELS) : whole
  return Math.max(largest * STEP_PER_PIXEL, decoded * DECODE_PER_PIXEL)
}

function requireSizes({ id }: ModelSpec, options: SdServerOptions): void {
  const usual = usualSize(options)
  const largest = largestSize(options)
  const problem = sizeProblem(largest, 'largestSize') ?? sizeProblem(usual, 'size')
  if (problem !== undefined) throw wrongOption(id, 'size', problem)
  if (pixelsOf(usual) <= pixelsOf(largest)) return
  throw wrongOption(
    id,
    'size',
    `size has ${pixelsOf(usual)} pixels, more than largestSize, ${pixelsOf(largest)}.`,
  )
}

function wrongOption(id: string, param: string, problem: string): ModelyardError {
  return new ModelyardError('config_invalid', `Model "${id}": ${problem}`, { details: { param } })
}
