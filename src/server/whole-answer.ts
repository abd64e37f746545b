import type { RunEncoder } from '../dialects/dialect.ts'
import type { Part, Result } from '../tasks/part.ts'
import type { Usage } from '../tasks/usage.ts'
import { controlErrors } from './control-errors.ts'

/** The answer of one run as one JSON object: what was made of its parts, and its usage. */
export class WholeAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly #take: (part: Part) => void
  readonly #fields: () => Record<string, unknown>
  #usage: Usage | undefined

  /** `take` is given each part, `fields` is asked at the end. */
  constructor(take: (part: Part) => void, fields: () => Record<string, unknown>) {
    this.#take = take
    this.#fields = fields
  }

  part(part: Part): string {
    this.#take(part)
    return ''
  }

  end({ usage }: Result): string {
    this.#usage = usage
    return ''
  }

  finish(): string {
    const { promptTokens = 0, completionTokens = 0 } = this.#usage ?? {}
    const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens + completionTokens }
    return JSON.stringify({ ...this.#fields(), usage })
  }

  /** An answer in one piece has a status of its own: this is for streams alone. */
  readonly fail: RunEncoder['fail'] = (error, status) => controlErrors.errorBody(error, status, '')
}
