import { IMAGE_FORMATS, imageFormatOf } from '../tasks/image-format.ts'
import { decodeImageUri } from './data-uri.ts'
import { asString, invalidField, type Fields } from './fields.ts'

/** The bytes of a data URI that holds an image. @throws ModelyardError `invalid_request` naming the field */
export function decodeImage(uri: string, param: string): Uint8Array {
  const { data } = decodeImageUri(uri, param)
  if (imageFormatOf(data) !== undefined) return data
  throw invalidField(param, `'${param}' is no image that can be read; send ${IMAGE_FORMATS}.`)
}

/** The image of a request that is about one. @throws ModelyardError `invalid_request` */
export function requiredImage({ image }: Fields): Uint8Array {
  if (image === undefined) throw invalidField('image', "'image' is missing; send a data URI.")
  return decodeImage(asString(image, 'image'), 'image')
}
