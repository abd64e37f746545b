import { ModelyardError } from '../../base/errors.ts'
import { GrammarMachine } from '../../grammar/grammar-machine.ts'
import { GrammarWalk } from '../../grammar/grammar-walk.ts'
import { outputGrammar, type OutputGrammar } from '../../grammar/output-grammar.ts'
import { MOST_WAYS } from '../../grammar/require-few-ways.ts'
import type { OutputFormat } from '../../tasks/chat-task.ts'
import type { LlamaGrammar, LlamaGrammarState, LlamaModel, LlamaModule } from './llama-module.ts'
import type { LlamaRuntime } from './llama-runtime.ts'

/** Grammars that are kept: the next request often has the same. */
const MOST_KEPT = 32

interface CompiledGrammar {
  native: LlamaGrammar
  machine: GrammarMachine
}

/** The compiled grammars of a loaded model, by their text. */
export class GrammarShelf {
  readonly #runtime: Pick<LlamaRuntime, 'llama' | 'module'>
  readonly #model: LlamaModel
  readonly #kept = new Map<string, CompiledGrammar>()

  constructor(runtime: Pick<LlamaRuntime, 'llama' | 'module'>, model: LlamaModel) {
    this.#runtime = runtime
    this.#model = model
  }

  /** A new answer in that form. @throws invalid_request for a form that cannot be held */
  begin(format: OutputFormat): AnswerGrammar {
    return new AnswerGrammar(this.#runtime.module, this.#model, this.#compiled(outputGrammar(format)))
  }

  #compiled(output: OutputGrammar): CompiledGrammar {
    const compiled = this.#kept.get(output.gbnf) ?? this.#compile(output)
    this.#kept.delete(output.gbnf)
    this.#kept.set(output.gbnf, compiled)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return compiled
  }

  #compile({ gbnf, grammar }: OutputGrammar): CompiledGrammar {
    const { module, llama } = this.#runtime
    return { native: new module.LlamaGrammar(llama, { grammar: gbnf }), machine: new GrammarMachine(grammar) }
  }
}

/**
 * How far one answer is in its grammar. The engine holds the model to it; here the same text is followed once more, to see the end, and
 * to see an ambiguous grammar before the engine's memory is full of the ways to read it.
 */
export class AnswerGrammar {
  readonly #module: LlamaModule
  readonly #model: LlamaModel
  readonly #state: LlamaGrammarState
  readonly #walk: GrammarWalk
  readonly #decoder = new TextDecoder()

  constructor(module: LlamaModule, model: LlamaModel, { native, machine }: CompiledGrammar) {
    this.#module = module
    this.#model = model
    this.#state = new module.LlamaGrammarEvaluationState({ model, grammar: native })
    this.#walk = new GrammarWalk(machine)
  }

  /** What the engine chooses by; it moves on with each token that the engine chooses. */
  get state(): LlamaGrammarState {
    return this.#state
  }

  /** For choices that are not the engine's: it moves a copy with what it would have chosen. */
  get copy(): LlamaGrammarState {
    return new this.#module.LlamaGrammarEvaluationState(this.#state)
  }

  /** Nothing may follow, so that the answer is whole. */
  get isComplete(): boolean {
    return this.#walk.mustEnd
  }

  /** Moves on with a token that was chosen here. Tokens that end the turn are never passed: they would end the process. */
  accept(token: number): void {
    this.#model._llama._bindings.AddonSampler.acceptGrammarEvaluationStateToken(this.#state._state, token)
  }

  /** Takes the bytes of each token of the answer. @throws invalid_request when they can be meant in too many ways */
  follow(bytes: Uint8Array): void {
    for (const character of this.#decoder.decode(bytes, { stream: true })) {
      this.#walk.step(character.codePointAt(0) ?? 0)
      if (this.#walk.ways > MOST_WAYS) throw tooAmbiguous()
    }
  }
}

function tooAmbiguous(): ModelyardError {
  const message = `The answer can be meant in more than ${MOST_WAYS} ways by its format; make the alternatives begin differently.`
  return new ModelyardError('invalid_request', message, { details: { param: 'format' } })
}
