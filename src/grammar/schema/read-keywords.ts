import { refuseSchema } from '../refuse-grammar.ts'
import type { FlatSchema } from './flat-schema.ts'

const MOST_COUNT = 1_000_000

/** Reads the keywords of one flat schema, refusing what is not what it must be. */
export class KeywordReader {
  readonly #keywords: FlatSchema['keywords']
  readonly #where: string

  constructor({ keywords }: FlatSchema, where: string) {
    this.#keywords = keywords
    this.#where = where
  }

  has(keyword: string): boolean {
    return this.#keywords.has(keyword)
  }

  value(keyword: string): unknown {
    return this.#keywords.get(keyword)?.value
  }

  where(keyword: string): string {
    return this.#keywords.get(keyword)?.where ?? this.#where
  }

  number(keyword: string): number | undefined {
    const value = this.value(keyword)
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
    return this.refuse(keyword, 'must be a number.')
  }

  /** A whole number from 0. */
  count(keyword: string): number | undefined {
    const value = this.number(keyword)
    if (value === undefined || (Number.isInteger(value) && value >= 0 && value <= MOST_COUNT)) return value
    return this.refuse(keyword, `must be a whole number from 0 to ${MOST_COUNT}.`)
  }

  /** Least and most by two keywords. */
  counts(least: string, most: string): [least: number, most: number] {
    return [this.count(least) ?? 0, this.count(most) ?? Infinity]
  }

  text(keyword: string): string | undefined {
    const value = this.value(keyword)
    if (value === undefined || typeof value === 'string') return value
    return this.refuse(keyword, 'must be a text.')
  }

  list(keyword: string): readonly unknown[] | undefined {
    const value = this.value(keyword)
    if (value === undefined || Array.isArray(value)) return value
    return this.refuse(keyword, 'must be a list.')
  }

  /** Refuses each of the keywords that is there and not neutral. */
  refuseAll(keywords: readonly string[], isNeutral: (value: unknown) => boolean = () => false): void {
    for (const keyword of keywords) {
      if (this.has(keyword) && !isNeutral(this.value(keyword)))
        this.refuse(keyword, 'this keyword cannot be held by a grammar.')
    }
  }

  refuse(keyword: string, message: string): never {
    return refuseSchema(this.where(keyword), message)
  }
}
