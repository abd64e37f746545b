import type { CodePointRange } from './code-points.ts'
import type { Expression, Grammar } from './expression.ts'
import { withSimpleRepeats } from './simple-repeats.ts'

/** One step of reading a text by a grammar; numbers are other states. */
export type State =
  | { kind: 'character'; ranges: readonly CodePointRange[]; next: number }
  | { kind: 'split'; to: number[] }
  | { kind: 'call'; rule: string; next: number }
  | { kind: 'return' }

/** The state at the end of every rule. */
const RETURN = 0

/** A grammar made ready for reading texts. */
export class GrammarMachine {
  readonly states: State[] = [{ kind: 'return' }]
  readonly root: string
  readonly #entries = new Map<string, number>()

  constructor({ root, rules }: Grammar) {
    this.root = root
    for (const [name, body] of withSimpleRepeats(rules)) this.#entries.set(name, this.#build(body, RETURN))
  }

  entryOf(rule: string): number {
    return this.#entries.get(rule) ?? RETURN
  }

  isReturn(state: number): boolean {
    return state === RETURN
  }

  #build(expression: Expression, next: number): number {
    switch (expression.kind) {
      case 'text': {
        const codePoints = Array.from(expression.text, (character) => character.codePointAt(0) ?? 0)
        return codePoints.reduceRight(
          (after, code) => this.#add({ kind: 'character', ranges: [[code, code]], next: after }),
          next,
        )
      }
      case 'set':
        return this.#add({ kind: 'character', ranges: expression.ranges, next })
      case 'rule':
        return this.#add({ kind: 'call', rule: expression.name, next })
      case 'sequence':
        return expression.items.reduceRight((after, item) => this.#build(item, after), next)
      case 'choice':
        return this.#add({ kind: 'split', to: expression.items.map((item) => this.#build(item, next)) })
      default:
        return this.#buildRepeat(expression.item, expression.least, expression.most, next)
    }
  }

  #buildRepeat(item: Expression, least: number, most: number, next: number): number {
    let after = next
    if (most === Infinity) {
      const loop: State = { kind: 'split', to: [next] }
      after = this.#add(loop)
      loop.to.push(this.#build(item, after))
    } else {
      for (let count = least; count < most; count++) {
        after = this.#add({ kind: 'split', to: [next, this.#build(item, after)] })
      }
    }
    for (let count = 0; count < least; count++) after = this.#build(item, after)
    return after
  }

  #add(state: State): number {
    return this.states.push(state) - 1
  }
}
