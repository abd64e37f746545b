/** Characters of a text that a picture is made of: those of OpenAI's API. */
export const LONGEST_IMAGE_PROMPT = 32_000

/** Pictures to be made of a text. */
export interface ImageTask {
  kind: 'image'
  /** Not empty, at most {@link LONGEST_IMAGE_PROMPT} characters. */
  prompt: string
  /** What should not be on it; absent = the model's default. */
  negativePrompt?: string
  /** Pixels, a multiple of 8 each, both or neither; absent = the model's default. */
  width?: number
  height?: number
  /** How many, 1…10. */
  count: number
  /** 1…200; absent = the model's default. */
  steps?: number
  /** 32-bit unsigned; absent = another one each time. Each picture after the first has the next one. */
  seed?: number
  /** How strictly the text is followed, 0…100; absent = the model's default. */
  guidance?: number
}

/** `512x768` as numbers; undefined for what is none. */
export function parseImageSize(text: string): { width: number; height: number } | undefined {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? []
  return width === undefined ? undefined : { width: Number(width), height: Number(height) }
}
