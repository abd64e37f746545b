import { ModelyardError } from '../../base/errors.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { encodeError } from './encode-error.ts'

/** An answer in one piece that has one value for each thing that was asked. */
export abstract class ListAnswer<Value> implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #what: string
  readonly #values: (Value | undefined)[]
  #tokens = 0
  #isCounted = true

  /** @param what for the error about one that is missing: "vector for input" @param count of things asked */
  constructor(what: string, count: number) {
    this.#what = what
    this.#values = Array.from({ length: count })
  }

  part(part: Part): string {
    const found = this.valueOf(part)
    if (found !== undefined) this.#values[found.index] = found.value
    return ''
  }

  end({ usage }: Result): string {
    if (usage.unknown === true) this.#isCounted = false
    this.#tokens += usage.promptTokens
    return ''
  }

  finish(): string {
    const values = this.#values.map((value, index) => value ?? this.#missing(index))
    const usage = this.#isCounted ? { prompt_tokens: this.#tokens, total_tokens: this.#tokens } : null
    return JSON.stringify({ object: 'list', ...this.fields(values), usage })
  }

  /** The value in a part, and the place of what was asked. */
  protected abstract valueOf(part: Part): { index: number; value: Value } | undefined

  /** What the answer has between `object` and `usage`. */
  protected abstract fields(values: readonly Value[]): Record<string, unknown>

  #missing(index: number): never {
    throw new ModelyardError('engine_failed', `The engine gave no ${this.#what} ${index}.`)
  }
}
