import { ModelyardError } from '../../base/errors.ts'
import { GrammarMachine } from '../../grammar/grammar-machine.ts'
import { GrammarWalk } from '../../grammar/grammar-walk.ts'
import { outputGrammar } from '../../grammar/output-grammar.ts'
import { MOST_WAYS } from '../../grammar/require-few-ways.ts'
import type { OutputFormat } from '../../tasks/chat-task.ts'

/**
 * The grammar of an answer, and the answer read by it once more. A server that does not understand a grammar goes on without it and says
 * nothing; an ambiguous one fills its memory. Neither passes here.
 */
export class AnswerCheck {
  readonly gbnf: string
  readonly #walk: GrammarWalk

  /** @throws invalid_request for a form that cannot be held */
  constructor(format: OutputFormat) {
    const { gbnf, grammar } = outputGrammar(format)
    this.gbnf = gbnf
    this.#walk = new GrammarWalk(new GrammarMachine(grammar))
  }

  /** Nothing may follow, so that the answer is whole. */
  get isComplete(): boolean {
    return this.#walk.mustEnd
  }

  /** @throws engine_failed for text that the grammar does not have, invalid_request when it can be meant in too many ways */
  follow(text: string): void {
    for (const character of text) {
      if (!this.#walk.step(character.codePointAt(0) ?? 0)) throw leftGrammar()
      if (this.#walk.ways > MOST_WAYS) throw tooAmbiguous()
    }
  }

  /** The model ended its turn by itself. @throws engine_failed when the answer is not whole */
  end(): void {
    if (!this.#walk.mayEnd) throw leftGrammar()
  }
}

function leftGrammar(): ModelyardError {
  const message =
    'The llama-server worker wrote what the format of the answer does not allow; it may be too old for this grammar.'
  return new ModelyardError('engine_failed', message)
}

function tooAmbiguous(): ModelyardError {
  const message = `The answer can be meant in more than ${MOST_WAYS} ways by its format; make the alternatives begin differently.`
  return new ModelyardError('invalid_request', message, { details: { param: 'format' } })
}
