import type { ToolCallFormat } from '../tool-calls/tool-call-format.ts'
import type { ReasoningFormat } from './reasoning-format.ts'

/** The marks that an answer may have. */
export class AnswerMarks {
  readonly #calls: ToolCallFormat | undefined
  readonly #reasoning: ReasoningFormat | undefined
  readonly #always: readonly string[]
  readonly #fresh: readonly string[]

  constructor(calls: ToolCallFormat | undefined, reasoning: ReasoningFormat | undefined) {
    this.#calls = calls
    this.#reasoning = reasoning
    const silent = [...(calls?.silent ?? []), ...(reasoning?.silent ?? [])]
    const thinking = reasoning === undefined ? [] : [reasoning.begin]
    const others = [...(calls?.begins ?? []), ...silent]
    this.#fresh = [...others, ...thinking]
    this.#always = reasoning?.anywhere === true ? this.#fresh : others
  }

  /** Those that mean something here: some begin reasoning where text has not begun. */
  at(isFresh: boolean): readonly string[] {
    return isFresh ? this.#fresh : this.#always
  }

  /** Whether this text of a control token is a mark, or part of one. */
  has(text: string): boolean {
    return this.#all().some((mark) => mark.includes(text))
  }

  #all(): string[] {
    const { begins = [], ends = [], silent = [], inner = [] } = this.#calls ?? {}
    const shape = this.#calls === undefined ? [] : Object.values(this.#calls.shape).flat()
    const { begin = '', end = '', silent: around = [] } = this.#reasoning ?? {}
    const texts: unknown[] = [...shape, ...begins, ...ends, ...silent, ...inner, begin, end, ...around]
    return texts.filter((text) => typeof text === 'string')
  }
}
