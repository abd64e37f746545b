import { ModelyardError } from '../../../base/errors.ts'
import type { Part } from '../../../tasks/part.ts'
import type { RunEncoder } from '../../dialect.ts'
import { encodeError } from '../encode-error.ts'

type ImagePart = Part & { type: 'image' }

/** Images as base64, in the order they were made; `seed` is ours. */
export class ImageAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #created: number
  readonly #images: (ImagePart | undefined)[]

  /** @param created seconds since 1970 @param count of images that were asked for */
  constructor(created: number, count: number) {
    this.#created = created
    this.#images = Array.from({ length: count })
  }

  part(part: Part): string {
    if (part.type === 'image') this.#images[part.index] = part
    return ''
  }

  end(): string {
    return ''
  }

  finish(): string {
    const images = this.#images.map((image, index) => image ?? missing(index))
    const [first] = images
    return JSON.stringify({
      created: this.#created,
      background: 'opaque',
      ...(first !== undefined && {
        output_format: first.mediaType.replace('image/', ''),
        size: `${first.width}x${first.height}`,
      }),
      data: images.map(({ data, seed }) => ({
        b64_json: Buffer.from(data).toString('base64'),
        ...(seed !== undefined && { seed }),
      })),
    })
  }
}

function missing(index: number): never {
  throw new ModelyardError('engine_failed', `The engine gave no image ${index}.`)
}
