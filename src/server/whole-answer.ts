import type { RunEncoder } from '../dialects/dialect.ts'
import type { Part, Result } from '../tasks/part.ts'
import { controlErrors } from './control-errors.ts'

/** The answer of one run as one JSON object: what was made of its parts, and its usage. */
export class WholeAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly #take: (part: Part) => void
  readonly #fields: (result: Result | undefined) => Record<string, unknown>
  #result: Result | undefined

  /** `take` is given each part, `fields` is asked at the end; a `usage` of its own goes before that of inputs alone. */
  constructor(take: (part: Part) => void, fields: (result: Result | undefined) => Record<string, unknown>) {
    this.#take = take
    this.#fields = fields
  }

  part(part: Part): string {
    this.#take(part)
    return ''
  }

  end(result: Result): string {
    this.#result = result
    return ''
  }

  finish(): string {
    const { promptTokens = 0, completionTokens = 0 } = this.#result?.usage ?? {}
    const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens + completionTokens }
    const fields = this.#fields(this.#result)
    return JSON.stringify({ ...fields, usage: fields['usage'] ?? usage })
  }

  /** An answer in one piece has a status of its own: this is for streams alone. */
  readonly fail: RunEncoder['fail'] = (error, status) => controlErrors.errorBody(error, status, '')
}
