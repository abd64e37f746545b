import { InvalidArgumentError } from 'commander'

/** Checks of option values; each names what is allowed. Zero is a value everywhere. */
function numberIn(text: string, low: number, high: number, what: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= low && value <= high))
    throw new InvalidArgumentError(`It must be ${what}.`)
  return value
}

function integerIn(text: string, low: number, high: number, what: string): number {
  const value = numberIn(text, low, high, what)
  if (!Number.isInteger(value)) throw new InvalidArgumentError(`It must be ${what}.`)
  return value
}

export function parsePort(text: string): number {
  return integerIn(text, 0, 65_535, 'a port from 0 (any free one) to 65535')
}

export function parseTemperature(text: string): number {
  return numberIn(text, 0, 100, 'a number from 0 (always the likeliest token) up')
}

export function parseGuidance(text: string): number {
  return numberIn(text, 0, 100, 'a number from 0 to 100')
}

export function parseTopP(text: string): number {
  return numberIn(text, 0, 1, 'a number from 0 to 1')
}

export function parseMaxTokens(text: string): number {
  return integerIn(text, 0, Number.MAX_SAFE_INTEGER, 'a whole number from 0 up')
}

export function parseCount(text: string): number {
  return integerIn(text, 1, Number.MAX_SAFE_INTEGER, 'a whole number from 1 up')
}

export function parseLines(text: string): number {
  return integerIn(text, 0, 10_000, 'a whole number from 0 to 10000')
}

export function parseSeed(text: string): number {
  return integerIn(text, 0, 0xffff_ffff, 'a whole number from 0 to 4294967295')
}

/** One more of a repeated NAME=VALUE. */
export function addDefinition(text: string, before: readonly string[] = []): string[] {
  if (!/^[A-Za-z_]\w*=.*$/.test(text)) {
    throw new InvalidArgumentError('It must be a name and a value, for example GGML_CUDA=ON.')
  }
  return [...before, text]
}
