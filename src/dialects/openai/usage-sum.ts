import { NO_USAGE, type Usage } from '../../tasks/usage.ts'

/** Tokens of all runs of an answer. Several choices have one prompt: it counts once, as the first of them met it. */
export class UsageSum {
  readonly #choices: number
  #total: Usage = NO_USAGE

  /** @param choices runs for each prompt */
  constructor(choices: number) {
    this.#choices = choices
  }

  get total(): Usage {
    return this.#total
  }

  add(usage: Usage, task: number): void {
    const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = this.#total
    const first = task % this.#choices === 0
    const unknown = this.#total.unknown ?? usage.unknown
    this.#total = {
      promptTokens: promptTokens + (first ? usage.promptTokens : 0),
      cachedTokens: cachedTokens + (first ? usage.cachedTokens : 0),
      completionTokens: completionTokens + usage.completionTokens,
      reasoningTokens: reasoningTokens + usage.reasoningTokens,
      ...(unknown === true && { unknown }),
    }
  }
}
