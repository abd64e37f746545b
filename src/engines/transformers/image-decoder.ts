import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ModelyardError } from '../../base/errors.ts'
import { IMAGE_FORMATS } from '../../tasks/image-format.ts'
import type { DecodedImage, ImageLibrary, TransformersModule } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'

/** Pixels of the largest image that is taken: 150 MB in memory, for models that see a few hundred pixels on each side. */
const MOST_PIXELS = 50_000_000

const READING = { limitInputPixels: MOST_PIXELS, failOn: 'error' } as const

/** Pixels of the longer side that is kept: more than any of these models sees, and a third of the largest image in memory. */
const MOST_SIDE = 4096

/** Width and height, upright. */
export interface ImageSize {
  width: number
  height: number
}

/** Image files to pixels, by the library that comes with the engine. */
export class ImageDecoder {
  readonly #module: TransformersModule
  readonly #library: ImageLibrary

  static async load({ module, modules }: ImportedTransformers): Promise<ImageDecoder> {
    const imported = (await import(pathToFileURL(join(modules, 'sharp/dist/index.mjs')).href)) as {
      default: ImageLibrary
    }
    return new ImageDecoder(module, imported.default)
  }

  private constructor(module: TransformersModule, library: ImageLibrary) {
    this.#module = module
    this.#library = library
  }

  /** As it was sent, however large. @param param the field it came in, for errors @throws ModelyardError `invalid_request` */
  async sizeOf(bytes: Uint8Array, param: string): Promise<ImageSize> {
    try {
      return (await this.#library(bytes, READING).metadata()).autoOrient
    } catch (cause) {
      throw unreadable(bytes, param, cause)
    }
  }

  /**
   * Upright, in red, green and blue, no side longer than {@link MOST_SIDE}; what is transparent lies on white.
   * @param param the field it came in, for errors @throws ModelyardError `invalid_request` for what is no image, damaged or too large
   */
  async decode(bytes: Uint8Array, param: string): Promise<DecodedImage> {
    try {
      const { data, info } = await this.#library(bytes, READING)
        .autoOrient()
        .resize({ width: MOST_SIDE, height: MOST_SIDE, fit: 'inside', withoutEnlargement: true })
        .flatten({ background: 'white' })
        .toColourspace('srgb')
        .raw()
        .toBuffer({ resolveWithObject: true })
      const { buffer, byteOffset, length } = data
      const pixels = new Uint8ClampedArray(buffer, byteOffset, length)
      return new this.#module.RawImage(pixels, info.width, info.height, 3)
    } catch (cause) {
      throw unreadable(bytes, param, cause)
    }
  }
}

function unreadable(bytes: Uint8Array, param: string, cause: unknown): ModelyardError {
  const reason = /pixel limit/i.test(String(cause))
    ? `it has more than ${MOST_PIXELS / 1_000_000} million pixels`
    : 'its bytes are damaged'
  return new ModelyardError(
    'invalid_request',
    `The image cannot be read (${bytes.length} bytes): ${reason}. Send a whole file of ${IMAGE_FORMATS}.`,
    { details: { param }, cause },
  )
}
