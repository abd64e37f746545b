import { ModelyardError } from '../../base/errors.ts'
import { GrammarMachine } from '../../grammar/grammar-machine.ts'
import { GrammarWalk } from '../../grammar/grammar-walk.ts'
import { outputGrammar } from '../../grammar/output-grammar.ts'
import { MOST_WAYS } from '../../grammar/require-few-ways.ts'
import type { OutputFormat } from '../../tasks/chat-task.ts'
import type { WireLine } from './read-lines.ts'

/** Times that a model may choose again at one place, each time without the likeliest tokens of before. */
const MOST_CHOICES = 3

/**
 * What becomes of a token that a model chose: it is taken, another one is taken instead, the model has to choose again, or it found nothing in
 * a hundred tokens, and a text is said for it.
 */
export type Verdict =
  | 'taken'
  | 'again'
  | { instead: { id: number; text: string; logprob: number } }
  | { say: string }

/**
 * Holds an answer to its grammar where the engine cannot: what does not fit is not taken, the likeliest token that fits is; where none is
 * known, the model chooses again without those that do not.
 */
export class FormKeeper {
  readonly #walk: GrammarWalk
  readonly #endIds: ReadonlySet<number>
  #forbidden = new Set<number>()
  #choices = 0

  /** @throws ModelyardError `invalid_request` for a form that cannot be held */
  constructor(format: OutputFormat, endIds: readonly number[]) {
    this.#walk = new GrammarWalk(new GrammarMachine(outputGrammar(format).grammar))
    this.#endIds = new Set(endIds)
  }

  /** Nothing may follow. */
  get isComplete(): boolean {
    return this.#walk.mustEnd
  }

  /** The model may end its turn here. */
  get mayEnd(): boolean {
    return this.#walk.mayEnd
  }

  /** Ids that were tried at this place. */
  get forbidden(): readonly number[] {
    return [...this.#forbidden]
  }

  /**
   * @param text of all tokens since the last that was taken @param first the first of these tokens
   * @throws ModelyardError `engine_failed` when nothing can come, `invalid_request` for a form that can be meant in too many ways
   */
  judge(text: string, { id = -1, top = [] }: WireLine): Verdict {
    if (!this.#endIds.has(id) && this.#takes(text)) return 'taken'
    this.#forbidden.add(id)
    for (const [other, otherText, logprob] of top.toSorted((a, b) => b[2] - a[2])) {
      if (this.#forbidden.has(other) || this.#endIds.has(other)) continue
      // A part of a character is no text yet: it may be chosen again, but cannot be judged here.
      if (otherText === '' || otherText.includes('\uFFFD')) continue
      if (this.#takes(otherText)) return { instead: { id: other, text: otherText, logprob } }
      this.#forbidden.add(other)
    }
    for (const end of this.#endIds) this.#forbidden.add(end)
    this.#choices++
    return this.#choices < MOST_CHOICES ? 'again' : this.#said()
  }

  #said(): Verdict {
    const [next] = this.#walk.nextCharacters(1)
    const text = next === undefined ? '' : String.fromCodePoint(next)
    if (!this.#takes(text)) throw nothingFits()
    return { say: text }
  }

  #takes(text: string): boolean {
    if (text === '' || !this.#walk.take(text)) return false
    if (this.#walk.ways > MOST_WAYS) throw tooAmbiguous()
    this.#forbidden = new Set()
    this.#choices = 0
    return true
  }
}

function nothingFits(): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    'Nothing can come at this place of the format of the answer; another format may do.',
  )
}

function tooAmbiguous(): ModelyardError {
  const message = `The answer can be meant in more than ${MOST_WAYS} ways by its format; make the alternatives begin differently.`
  return new ModelyardError('invalid_request', message, { details: { param: 'format' } })
}
