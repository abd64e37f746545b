import type { AnswerText } from './answer-text.ts'

/** Tokens that an answer has to have. */
export interface AnswerCourseOptions {
  text: AnswerText
  /** Come first, when the model has to think. */
  reasoningBegin: readonly number[]
  /** Come when it has thought enough. */
  reasoningEnd: readonly number[]
  /** Tokens that it may think. */
  reasoningBudget: number
  /** Come before anything but reasoning. */
  prefix: readonly number[]
}

/** What an answer has to say at its places, whatever the model would say; where nothing is said for it, the choice is free. */
export class AnswerCourse {
  readonly #options: AnswerCourseOptions
  readonly #due: number[] = []
  #isBegun = false

  constructor(options: AnswerCourseOptions) {
    this.#options = options
    this.#due.push(...options.reasoningBegin)
    this.advance()
  }

  /** Nothing is due, and the model does not think: a grammar holds here. */
  get isFree(): boolean {
    return this.#due.length === 0 && this.#isBegun && !this.#options.text.inReasoning
  }

  /** The token that is due. */
  take(): number | undefined {
    return this.#due.shift()
  }

  /** To be called after each token. */
  advance(): void {
    if (this.#due.length > 0) return
    const { text, reasoningBudget, reasoningEnd, prefix } = this.#options
    if (text.inReasoning) {
      if (text.reasoningTokens >= reasoningBudget) this.#due.push(...reasoningEnd)
    } else if (!this.#isBegun) {
      this.#isBegun = true
      this.#due.push(...prefix)
    }
  }

  /** The model would end while it thinks. @returns whether it has to answer first */
  refusesEnd(mustAnswer: boolean): boolean {
    if (!mustAnswer || !this.#options.text.inReasoning) return false
    this.#due.push(...this.#options.reasoningEnd)
    return this.#due.length > 0
  }
}
