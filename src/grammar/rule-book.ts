import { rule, type Expression } from './expression.ts'
import { refuseSchema } from './refuse-grammar.ts'

/** Characters of all bodies as JSON, known ones each time they come again: what a schema may unfold to before anybody counts its rules. */
const MOST_WRITTEN = 3_000_000

/** Grows a grammar: every body is held once, and names are given by the book. */
export class RuleBook {
  readonly #prefix: string
  readonly #rules = new Map<string, Expression>()
  readonly #names = new Map<string, string>()
  readonly #used = new Map<string, number>()
  #written = 0

  /** @param prefix begins every name, so that books can be bound together */
  constructor(prefix: string = '') {
    this.#prefix = prefix
  }

  get rules(): ReadonlyMap<string, Expression> {
    return this.#rules
  }

  /** A name that nobody has; its body comes later, by {@link define}. Bodies that refer to themselves need it. */
  reserve(hint: string): string {
    const base = this.#prefix + hint
    const count = this.#used.get(base) ?? 0
    this.#used.set(base, count + 1)
    return count === 0 ? base : `${base}-${count}`
  }

  define(name: string, body: Expression): void {
    this.#rules.set(name, body)
  }

  /** A reference to a rule with that body, which may be an older one. */
  add(hint: string, body: Expression): Expression {
    const key = JSON.stringify(body, (_, value: unknown) => (value === Infinity ? 'endless' : value))
    this.#written += key.length
    if (this.#written > MOST_WRITTEN)
      refuseSchema('', 'it unfolds to too large a grammar; use fewer alternatives or properties.')
    const known = this.#names.get(key)
    if (known !== undefined) return rule(known)
    const name = this.reserve(hint)
    this.#names.set(key, name)
    this.define(name, body)
    return rule(name)
  }
}
