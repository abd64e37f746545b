import { isMap } from '../../base/is-map.ts'
import { ModelyardError } from '../../base/errors.ts'
import { imageFormatOf } from '../../tasks/image-format.ts'
import { parseImageSize, type ImageTask } from '../../tasks/image-task.ts'
import type { Part } from '../../tasks/part.ts'
import { pictureSize } from '../../tasks/picture-size.ts'
import type { ReadDocument } from './document-reader.ts'
import { unreadable } from './upstream-error.ts'

/** The pictures of `/images/generations`, as base64: addresses are not followed, whoever wrote them. */
export function pictureParts(model: string, task: ImageTask): ReadDocument {
  return ({ data, size }) => {
    const entries = Array.isArray(data) ? (data as unknown[]).filter(isMap) : []
    if (entries.length < task.count) throw unreadable(model, `${entries.length} pictures for ${task.count}`)
    const told = typeof size === 'string' ? parseImageSize(size) : undefined
    return entries.slice(0, task.count).map((entry, index): Part => {
      const picture = pictureOf(entry, model)
      const format = imageFormatOf(picture)
      if (format === undefined) throw unreadable(model, 'a picture of no known format')
      const { width, height } = pictureSize(picture) ?? told ?? { width: task.width, height: task.height }
      if (width === undefined || height === undefined)
        throw unreadable(model, `a picture whose size is not to be seen (${format})`)
      const { seed } = entry
      return {
        type: 'image',
        index,
        mediaType: `image/${format}`,
        data: picture,
        width,
        height,
        ...(typeof seed === 'number' && { seed }),
      }
    })
  }
}

function pictureOf({ b64_json: base64, url }: Readonly<Record<string, unknown>>, model: string): Uint8Array {
  const written = typeof base64 === 'string' ? base64 : typeof url === 'string' ? dataOf(url) : undefined
  if (written !== undefined) return new Uint8Array(Buffer.from(written, 'base64'))
  if (typeof url !== 'string') throw unreadable(model, 'an entry without a picture')
  throw new ModelyardError(
    'engine_failed',
    `The upstream of model "${model}" sent the address of a picture instead of the picture, and addresses are not followed here. Set its server up to answer with b64_json.`,
  )
}

/** The base64 of a data URI. */
function dataOf(url: string): string | undefined {
  return /^data:[^,]*;base64,/i.test(url.slice(0, 100)) ? url.slice(url.indexOf(',') + 1) : undefined
}
