import { ModelyardError } from '../../base/errors.ts'
import { parseImageSize } from '../../tasks/image-task.ts'
import type { LoadPlan } from '../engine.ts'
import { sdServerOptions, type SdServerOptions } from './sd-server-options.ts'

export interface ImageSize {
  width: number
  height: number
}

/**
 * What every kind of model makes exactly: sd-server rounds others up to the next multiple of what the loaded model works in (8 to 64, and
 * says so in its log alone), and takes 64 to 4,096. Source: `align_up_offset` in stable-diffusion.cpp, `limits` in examples/server/routes_sdcpp.cpp.
 */
export const SIZE_STEP = 64
const LEAST = 64
const MOST = 4096

export const DEFAULT_SIZE: ImageSize = { width: 512, height: 512 }
const DEFAULT_LARGEST: ImageSize = { width: 1024, height: 1024 }

export function pixelsOf({ width, height }: ImageSize): number {
  return width * height
}

export function sizeText({ width, height }: ImageSize): string {
  return `${width}x${height}`
}

export function largestSize({ largestSize: written }: SdServerOptions): ImageSize {
  return (written === undefined ? undefined : parseImageSize(written)) ?? DEFAULT_LARGEST
}

/** Never above the largest one, where only that was made small. */
export function usualSize(options: SdServerOptions): ImageSize {
  const written = options.size === undefined ? undefined : parseImageSize(options.size)
  if (written !== undefined) return written
  const largest = largestSize(options)
  return pixelsOf(largest) < pixelsOf(DEFAULT_SIZE) ? largest : DEFAULT_SIZE
}

/** @param what the name of the value, for the sentence */
export function sizeProblem(size: ImageSize, what: string): string | undefined {
  const sides = [size.width, size.height]
  const isRight = sides.every((side) => side >= LEAST && side <= MOST && side % SIZE_STEP === 0)
  if (isRight) return undefined
  return `${what} is ${sizeText(size)}; both sides must be multiples of ${SIZE_STEP} from ${LEAST} to ${MOST}.`
}

/** The size of a picture that was asked for. @throws ModelyardError `invalid_request` with the numbers */
export function requestedSize(asked: ImageSize | undefined, { model, spec }: LoadPlan): ImageSize {
  const options = sdServerOptions(spec)
  if (asked === undefined) return usualSize(options)
  const largest = largestSize(options)
  const problem = sizeProblem(asked, 'The size')
  if (problem !== undefined) throw wrongSize(problem)
  if (pixelsOf(asked) <= pixelsOf(largest)) return asked
  throw wrongSize(
    `The size is ${sizeText(asked)}, ${pixelsOf(asked)} pixels; "${model}" makes at most ${pixelsOf(largest)} (${sizeText(largest)}). ` +
      'Ask for a smaller picture, or set largestSize in its configuration.',
  )
}

function wrongSize(message: string): ModelyardError {
  return new ModelyardError('invalid_request', message, { details: { param: 'size' } })
}
