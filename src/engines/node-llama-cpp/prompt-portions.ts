/** Characters that a portion has at least, all but the last. */
const PORTION = 1024

/**
 * Cuts a template's long text before control texts, where tokens begin anyway. llama.cpp's time for a text grows with the square of the
 * control texts in it (`tokenizer_st_partition` walks its list from the beginning for each of them): 8,000 short turns took half a minute
 * at once, and take a fraction of a second in portions.
 */
export class PromptPortions {
  readonly #texts: readonly string[]
  #mark: RegExp | undefined

  /** @param texts all control texts; those of a mask may take the spaces before them, so that nothing is cut there */
  constructor(texts: readonly string[]) {
    this.#texts = texts.filter((text) => text !== '' && !/mask/i.test(text))
  }

  /** @returns the text in portions that make the same tokens one by one; the text as it is when it is short */
  of(text: string): string[] {
    if (text.length <= PORTION || this.#texts.length === 0) return [text]
    this.#mark ??= anyOf(this.#texts)
    const portions: string[] = []
    let begin = 0
    for (const { index } of text.matchAll(this.#mark)) {
      if (index - begin < PORTION) continue
      portions.push(text.slice(begin, index))
      begin = index
    }
    portions.push(text.slice(begin))
    return portions
  }
}

/** The longest first, as llama.cpp looks for them. */
function anyOf(texts: readonly string[]): RegExp {
  const longestFirst = texts.toSorted((one, other) => other.length - one.length)
  return new RegExp(
    longestFirst.map((text) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)).join('|'),
    'g',
  )
}
