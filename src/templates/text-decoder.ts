/**
 * Turns the bytes of generated tokens into text. A character that several tokens make together is held back until it is whole, so
 * no stream ever shows U+FFFD for an emoji (BR-02). Bytes that can never become a character are replaced by U+FFFD, as browsers do.
 */
export class TokenTextDecoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  /** @returns the characters that are whole now; empty while one is still incomplete */
  write(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true })
  }

  /** Ends the text; the decoder can be used again. An unfinished character is dropped: half of it means nothing to anybody. */
  end(): void {
    this.#decoder.decode()
  }
}
