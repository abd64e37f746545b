import { ModelyardError } from '../../base/errors.ts'
import { ImageDecoder, type ImageSize } from './image-decoder.ts'
import type { DecodedImage, ImageProcessor, Tensor } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'

type ImageFeeds = Record<string, Tensor> & { pixel_values: Tensor }

/** Image files to what a model sees of them, as its folder says. */
export class ImageInputs {
  readonly processor: ImageProcessor
  /** An image to warm up with. */
  readonly blank: DecodedImage
  readonly #decoder: ImageDecoder

  static async load(imported: ImportedTransformers, folder: string): Promise<ImageInputs> {
    const { AutoImageProcessor, RawImage } = imported.module
    const processor = await AutoImageProcessor.from_pretrained(folder)
    const blank = new RawImage(new Uint8ClampedArray(64 * 64 * 3), 64, 64, 3)
    return new ImageInputs(processor, blank, await ImageDecoder.load(imported))
  }

  private constructor(processor: ImageProcessor, blank: DecodedImage, decoder: ImageDecoder) {
    this.processor = processor
    this.blank = blank
    this.#decoder = decoder
  }

  /** @param param the field it came in @throws ModelyardError `invalid_request` for what is no image, damaged or too large */
  async decode(bytes: Uint8Array, param: string): Promise<DecodedImage> {
    return this.#decoder.decode(bytes, param)
  }

  /** As it was sent: what is decoded of a large one is smaller. @throws ModelyardError `invalid_request` */
  async sizeOf(bytes: Uint8Array, param: string): Promise<ImageSize> {
    return this.#decoder.sizeOf(bytes, param)
  }

  /** What the graph is fed with: `pixel_values`, and for models that want it which of them are real. */
  async feeds(image: DecodedImage): Promise<ImageFeeds> {
    const { pixel_values: pixels, pixel_mask: mask } = await this.processor([image])
    if (pixels === undefined)
      throw new ModelyardError('engine_failed', 'The image processor gives no pixels.')
    return { pixel_values: pixels, ...(mask !== undefined && { pixel_mask: mask }) }
  }
}
