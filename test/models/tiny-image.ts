import { crc32, deflateSync } from 'node:zlib'

export type Colour = readonly [red: number, green: number, blue: number]

export const RED: Colour = [255, 0, 0]
export const GREEN: Colour = [0, 255, 0]
export const BLUE: Colour = [0, 0, 255]
export const WHITE: Colour = [255, 255, 255]

/** A PNG file whose left half has one colour and whose right half has another. */
export function png(width: number, height: number, left: Colour, right: Colour = left): Uint8Array {
  const row = [0, ...Array.from({ length: width }, (_, x) => (x < width / 2 ? left : right)).flat()]
  const pixels = Buffer.concat(Array.from({ length: height }, () => Buffer.from(row)))
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const sign = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const file = [
    sign,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]
  return new Uint8Array(Buffer.concat(file))
}

/** As chat clients send it. */
export function dataUri(image: Uint8Array): string {
  return `data:image/png;base64,${Buffer.from(image).toString('base64')}`
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
