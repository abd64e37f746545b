import { imageFormatOf } from './image-format.ts'

/** Pixels of a picture. */
export interface PictureSize {
  width: number
  height: number
}

/** What the head of a PNG, JPEG or WebP file says of its size; undefined for others, and for what is damaged. Nothing is decoded. */
export function pictureSize(picture: Uint8Array): PictureSize | undefined {
  const file = Buffer.from(picture.buffer, picture.byteOffset, picture.length)
  const format = imageFormatOf(picture)
  const size = format === 'png' ? pngSize(file) : format === 'jpeg' ? jpegSize(file) : webpSize(file)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

/** The first chunk is the header. Source: PNG specification, 11.2.2. */
function pngSize(file: Buffer): PictureSize | undefined {
  if (file.length < 24) return undefined
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
}

/** In the segment that begins a frame, C0 to CF but for three others. Source: ITU T.81, table B.1. */
function jpegSize(file: Buffer): PictureSize | undefined {
  for (let at = 2; at + 9 <= file.length && file[at] === 0xff;) {
    const marker = file[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) }
    // Bytes between segments may be filled up with FF.
    at = marker === 0xff ? at + 1 : at + 2 + file.readUInt16BE(at + 2)
  }
  return undefined
}

/** Lossy, lossless or extended. Source: RFC 9649, 2.5 to 2.7. */
function webpSize(file: Buffer): PictureSize | undefined {
  if (file.length < 30 || imageFormatOf(file) !== 'webp') return undefined
  const kind = file.toString('latin1', 12, 16)
  if (kind === 'VP8X') return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 }
  if (kind === 'VP8 ')
    return { width: file.readUInt16LE(26) & 0x3f_ff, height: file.readUInt16LE(28) & 0x3f_ff }
  if (kind !== 'VP8L') return undefined
  const bits = file.readUInt32LE(21)
  return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 }
}
