/**
 * Holds back half a character (a lone high surrogate at the end of a piece) until its other half comes, so that no JSON string of
 * a stream carries a broken one (BR-02).
 */
export class WholeText {
  #held = ''

  push(text: string): string {
    const joined = this.#held + text
    const last = joined.charCodeAt(joined.length - 1)
    const cut = last >= 0xd800 && last <= 0xdbff ? joined.length - 1 : joined.length
    this.#held = joined.slice(cut)
    return cut === joined.length ? joined : joined.slice(0, cut)
  }

  /** What is left when nothing more comes: half a character becomes one U+FFFD. */
  end(): string {
    const rest = this.#held === '' ? '' : '\uFFFD'
    this.#held = ''
    return rest
  }
}
