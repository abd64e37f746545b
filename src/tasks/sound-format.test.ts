import { describe, expect, it } from 'vitest'
import { soundFormatOf } from './sound-format.ts'

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0))

describe('the format of a sound file', () => {
  it.each([
    ['RIFF\0\0\0\0WAVEfmt ', 'wav'],
    ['fLaC\0\0', 'flac'],
    ['OggS\0\x02', 'ogg'],
    ['\x1a\x45\xdf\xa3\x01', 'webm'],
    ['\0\0\0\x20ftypM4A ', 'm4a'],
    ['ID3\x04', 'mp3'],
    ['\xff\xfb\x90', 'mp3'],
    ['RIFF\0\0\0\0AVI ', undefined],
    ['hello', undefined],
    ['', undefined],
    ['\xff', undefined],
  ])('%j is %s', (text, format) => {
    expect(soundFormatOf(bytes(text))).toBe(format)
  })
})
