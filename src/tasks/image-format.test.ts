import { describe, expect, it } from 'vitest'
import { imageFormatOf } from './image-format.ts'

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0))

describe('the format of an image file', () => {
  it.each([
    ['\x89PNG\r\n', 'png'],
    ['\xff\xd8\xff\xe0', 'jpeg'],
    ['RIFF\0\0\0\0WEBPVP8 ', 'webp'],
    ['GIF89a', 'gif'],
    ['\0\0\0\x20ftypavif', 'avif'],
    ['II*\0', 'tiff'],
    ['MM\0*', 'tiff'],
    ['RIFF\0\0\0\0WAVE', undefined],
    ['<svg xmlns="http://www.w3.org/2000/svg"/>', undefined],
    ['hello', undefined],
    ['', undefined],
  ])('%j is %s', (text, format) => {
    expect(imageFormatOf(bytes(text))).toBe(format)
  })
})
