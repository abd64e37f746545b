import type { LiteralShape } from '../tool-calls/tool-call-format.ts'

const WORDS: Record<string, string> = {
  True: 'true',
  False: 'false',
  None: 'null',
  true: 'true',
  false: 'false',
  null: 'null',
}

/** A value as Python or a model's own notation writes it, as JSON; what cannot be understood becomes a text. */
export function literalToJson(literal: string, shape: LiteralShape): string {
  const json = tokensOf(literal, shape.quotes)
    .map((token) => tokenToJson(token, shape.quotes))
    .join('')
  try {
    JSON.parse(json)
    return json
  } catch {
    return JSON.stringify(literal)
  }
}

/** Texts, words, and everything else unit by unit. */
function tokensOf(literal: string, quotes: readonly string[]): string[] {
  const tokens: string[] = []
  for (let at = 0; at < literal.length; at += tokens.at(-1)?.length ?? 1) {
    const quote = quotes.find((text) => literal.startsWith(text, at))
    if (quote !== undefined) tokens.push(textAt(literal, at, quote))
    else tokens.push(/^[A-Za-z_][\w-]*/.exec(literal.slice(at))?.[0] ?? literal.charAt(at))
  }
  return tokens
}

function textAt(literal: string, at: number, quote: string): string {
  for (let end = at + quote.length; end < literal.length; end++) {
    if (quote.length === 1 && literal[end] === '\\') end++
    else if (literal.startsWith(quote, end)) return literal.slice(at, end + quote.length)
  }
  return literal.slice(at)
}

function tokenToJson(token: string, quotes: readonly string[]): string {
  const quote = quotes.find((text) => token.startsWith(text))
  if (quote === undefined) return wordToJson(token)
  const inner = token.slice(quote.length, token.endsWith(quote) ? -quote.length : undefined)
  return JSON.stringify(quote.length === 1 ? unescaped(inner) : inner)
}

/** A bare word is the name of a field. Exponents of numbers are words too. */
function wordToJson(word: string): string {
  if (!/^[A-Za-z_]/.test(word)) return word
  return WORDS[word] ?? (/^[eE]\d*$/.test(word) ? word : JSON.stringify(word))
}

function unescaped(text: string): string {
  const known: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([^]))/g, (_, code: string | undefined, unit: string) =>
    code === undefined ? (known[unit] ?? unit) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}
