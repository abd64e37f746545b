import { outputGrammar } from '../../grammar/output-grammar.ts'
import type { OutputFormat } from '../../tasks/chat-task.ts'
import type { LlamaGrammar, LlamaGrammarState, LlamaModel, LlamaModule } from './llama-module.ts'
import type { LlamaRuntime } from './llama-runtime.ts'

/** Grammars that are kept: the next request often has the same. */
const MOST_KEPT = 32

/** The compiled grammars of a loaded model, by their text. */
export class GrammarShelf {
  readonly #runtime: Pick<LlamaRuntime, 'llama' | 'module'>
  readonly #model: LlamaModel
  readonly #kept = new Map<string, LlamaGrammar>()

  constructor(runtime: Pick<LlamaRuntime, 'llama' | 'module'>, model: LlamaModel) {
    this.#runtime = runtime
    this.#model = model
  }

  /** A new answer in that form. @throws invalid_request for a form that cannot be held */
  begin(format: OutputFormat): AnswerGrammar {
    return new AnswerGrammar(
      this.#runtime.module,
      this.#model,
      this.#grammarOf(JSON.stringify(format), format),
    )
  }

  #grammarOf(key: string, format: OutputFormat): LlamaGrammar {
    const grammar = this.#kept.get(key) ?? this.#compile(outputGrammar(format))
    this.#kept.delete(key)
    this.#kept.set(key, grammar)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return grammar
  }

  #compile(grammar: string): LlamaGrammar {
    return new this.#runtime.module.LlamaGrammar(this.#runtime.llama, { grammar })
  }
}

/** How far one answer is in its grammar. */
export class AnswerGrammar {
  readonly #module: LlamaModule
  readonly #model: LlamaModel
  readonly #state: LlamaGrammarState

  constructor(module: LlamaModule, model: LlamaModel, grammar: LlamaGrammar) {
    this.#module = module
    this.#model = model
    this.#state = new module.LlamaGrammarEvaluationState({ model, grammar })
  }

  /** What the engine chooses by; it moves on with each token that the engine chooses. */
  get state(): LlamaGrammarState {
    return this.#state
  }

  /** For choices that are not the engine's: it moves a copy with what it would have chosen. */
  get copy(): LlamaGrammarState {
    return new this.#module.LlamaGrammarEvaluationState(this.#state)
  }

  /** Moves on with a token that was chosen here. Tokens that end the turn are never passed: they would end the process. */
  accept(token: number): void {
    this.#model._llama._bindings.AddonSampler.acceptGrammarEvaluationStateToken(this.#state._state, token)
  }
}
