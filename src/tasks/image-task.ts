/** Pictures to be made of a text. */
export interface ImageTask {
  kind: 'image'
  /** Not empty. */
  prompt: string
  negativePrompt?: string
  /** Pixels, a multiple of 8 each. */
  width: number
  height: number
  /** How many, 1…10. */
  count: number
  /** Absent = the engine's default. */
  steps?: number
  /** 32-bit unsigned; absent = another one each time. */
  seed?: number
  /** How strictly the text is followed; absent = the engine's default. */
  guidance?: number
}
