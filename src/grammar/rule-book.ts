import { rule, type Expression } from './expression.ts'

/** Grows a grammar: every body is held once, and names are given by the book. */
export class RuleBook {
  readonly #prefix: string
  readonly #rules = new Map<string, Expression>()
  readonly #names = new Map<string, string>()
  readonly #used = new Map<string, number>()

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
    const known = this.#names.get(key)
    if (known !== undefined) return rule(known)
    const name = this.reserve(hint)
    this.#names.set(key, name)
    this.define(name, body)
    return rule(name)
  }
}
