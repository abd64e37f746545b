import { describe, expect, it } from 'vitest'
import { png, RED } from '../../test/models/tiny-image.ts'
import { pictureSize } from './picture-size.ts'

function webp(kind: string, bytes: readonly number[]): Buffer {
  const file = Buffer.alloc(40)
  file.write('RIFF')
  file.write(`WEBP${kind}`, 8)
  file.set(bytes, 20)
  return file
}

describe('the size of a picture', () => {
  it('is read from a PNG', () => {
    expect(pictureSize(png(64, 32, RED))).toEqual({ width: 64, height: 32 })
    expect(pictureSize(png(64, 32, RED).subarray(0, 23))).toBeUndefined()
  })

  it('is read from a JPEG, behind other segments and bytes that fill up', () => {
    const app = [0xff, 0xe0, 0, 4, 1, 2]
    const tables = [0xff, 0xc4, 0, 3, 9]
    const frame = [0xff, 0xff, 0xc2, 0, 17, 8, 0x01, 0x00, 0x02, 0x80, 3]
    const file = Uint8Array.from([0xff, 0xd8, ...app, ...tables, ...frame])
    expect(pictureSize(file)).toEqual({ width: 640, height: 256 })
    expect(pictureSize(file.subarray(0, 12))).toBeUndefined()
    expect(pictureSize(Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0]))).toBeUndefined()
  })

  it('is read from all three kinds of WebP', () => {
    const lossy = webp('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, 64, 0x40, 32, 0x80])
    expect(pictureSize(lossy)).toEqual({ width: 64, height: 32 })
    // 14 bits of each side less one.
    const lossless = webp('VP8L', [0x2f, 63, 0xc0, 7, 0])
    expect(pictureSize(lossless)).toEqual({ width: 64, height: 32 })
    expect(pictureSize(webp('VP8X', [0, 0, 0, 0, 63, 0, 0, 31, 0, 0]))).toEqual({ width: 64, height: 32 })
    expect(pictureSize(webp('ALPH', []))).toBeUndefined()
  })

  it('is not told of anything else, nor of nothing', () => {
    expect(pictureSize(Buffer.from('GIF89a and more of it'))).toBeUndefined()
    expect(pictureSize(new Uint8Array())).toBeUndefined()
    expect(pictureSize(png(64, 32, RED).fill(0, 16, 24))).toBeUndefined()
  })
})
