import { decodeImageUri } from '../dialects/data-uri.ts'
import { invalidField } from '../dialects/fields.ts'
import { IMAGE_FORMATS, imageFormatOf } from '../tasks/image-format.ts'

/** The bytes of a data URI that holds an image. @throws ModelyardError `invalid_request` naming the field */
export function decodeImage(uri: string, param: string): Uint8Array {
  const { data } = decodeImageUri(uri, param)
  if (imageFormatOf(data) !== undefined) return data
  throw invalidField(param, `'${param}' is no image that can be read; send ${IMAGE_FORMATS}.`)
}
