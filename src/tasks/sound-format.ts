import { anything, kindOf, letters, type FileSign } from './file-sign.ts'

const SIGNS: readonly [format: string, sign: FileSign][] = [
  ['wav', [...letters('RIFF'), ...anything(4), ...letters('WAVE')]],
  ['flac', letters('fLaC')],
  ['ogg', letters('OggS')],
  ['webm', [0x1a, 0x45, 0xdf, 0xa3]],
  ['m4a', [...anything(4), ...letters('ftyp')]],
  ['mp3', letters('ID3')],
]

/** What kind of sound file these bytes are, judged by their beginning; undefined = none that can be read. */
export function soundFormatOf(bytes: Uint8Array): string | undefined {
  const found = kindOf(bytes, SIGNS)
  if (found !== undefined) return found
  // A frame of MPEG audio, or of AAC: eleven bits set.
  const isFrame = bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0
  return isFrame ? 'mp3' : undefined
}

/** For errors: what {@link soundFormatOf} knows. */
export const SOUND_FORMATS = 'WAV, FLAC, MP3, OGG, WebM or M4A'
