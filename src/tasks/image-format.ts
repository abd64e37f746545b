import { anything, kindOf, letters, type FileSign } from './file-sign.ts'

const SIGNS: readonly [format: string, sign: FileSign][] = [
  ['png', [0x89, ...letters('PNG')]],
  ['jpeg', [0xff, 0xd8, 0xff]],
  ['webp', [...letters('RIFF'), ...anything(4), ...letters('WEBP')]],
  ['gif', letters('GIF8')],
  ['avif', [...anything(4), ...letters('ftypavif')]],
  ['tiff', [...letters('II'), 0x2a, 0]],
  ['tiff', [...letters('MM'), 0, 0x2a]],
]

/** What kind of image file these bytes are, judged by their beginning; undefined = none that is read. What is text (SVG) is none: it may name other files. */
export function imageFormatOf(bytes: Uint8Array): string | undefined {
  return kindOf(bytes, SIGNS)
}

/** For errors: what {@link imageFormatOf} knows. */
export const IMAGE_FORMATS = 'PNG, JPEG, WebP, GIF, AVIF or TIFF'
