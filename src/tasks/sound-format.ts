/** Formats of sound files by the bytes they begin with; `undefined` marks bytes that may be anything. */
const SIGNS: readonly [format: string, sign: readonly (number | undefined)[]][] = [
  ['wav', [...letters('RIFF'), undefined, undefined, undefined, undefined, ...letters('WAVE')]],
  ['flac', letters('fLaC')],
  ['ogg', letters('OggS')],
  ['webm', [0x1a, 0x45, 0xdf, 0xa3]],
  ['m4a', [undefined, undefined, undefined, undefined, ...letters('ftyp')]],
  ['mp3', letters('ID3')],
]

function letters(text: string): number[] {
  return Array.from(text, (letter) => letter.charCodeAt(0))
}

/** What kind of sound file these bytes are, judged by their beginning; undefined = none that can be read. */
export function soundFormatOf(bytes: Uint8Array): string | undefined {
  const found = SIGNS.find(([, sign]) => sign.every((byte, at) => byte === undefined || bytes[at] === byte))
  if (found !== undefined) return found[0]
  // A frame of MPEG audio, or of AAC: eleven bits set.
  const isFrame = bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0
  return isFrame ? 'mp3' : undefined
}

/** For errors: what {@link soundFormatOf} knows. */
export const SOUND_FORMATS = 'WAV, FLAC, MP3, OGG, WebM or M4A'
