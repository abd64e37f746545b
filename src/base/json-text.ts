/** Halves of pairs that stand alone. */
const HALVES = /\p{Cs}/gu

/**
 * JSON of a value whose texts are whole characters: half of a pair becomes U+FFFD, as it does wherever text is written as UTF-8. Parsers of
 * other programs refuse a document with such a half, and quote what stands around it.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  return text.includes(String.raw`\ud`) ? JSON.stringify(value, wholeCharacters) : text
}

function wholeCharacters(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll(HALVES, '\uFFFD') : value
}
