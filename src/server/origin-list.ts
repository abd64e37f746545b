/** Origins that are allowed, each exactly or with `*` for any text. */
export class OriginList {
  readonly any: boolean
  readonly #exact = new Set<string>()
  readonly #patterns: RegExp[] = []

  constructor(origins: readonly string[]) {
    this.any = origins.includes('*')
    for (const origin of origins.map((text) => text.toLowerCase())) {
      if (origin.includes('*')) this.#patterns.push(patternOf(origin))
      else this.#exact.add(origin)
    }
  }

  allows(origin: string): boolean {
    const lower = origin.toLowerCase()
    return this.any || this.#exact.has(lower) || this.#patterns.some((pattern) => pattern.test(lower))
  }
}

function patternOf(origin: string): RegExp {
  const escaped = origin
    .split('*')
    .map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('.*')
  return new RegExp(`^${escaped}$`)
}
