import type { CodePointRange } from './code-points.ts'
import type { Expression, Grammar } from './expression.ts'

/** 0 ≤ n < 1. */
export type Random = () => number

const MOST_REPEATS = 4
const DEEPEST = 14

/** Walks through a grammar at random, for tests: texts that it allows, mostly short ones. Deep down it takes the shortest way out. */
export class RandomText {
  readonly #rules: Grammar['rules']
  readonly #root: string
  readonly #heights: ReadonlyMap<string, number>

  constructor({ root, rules }: Grammar) {
    this.#root = root
    this.#rules = rules
    this.#heights = heightsOf(rules)
  }

  next(random: Random): string {
    return this.#text({ kind: 'rule', name: this.#root }, random, 0)
  }

  #text(expression: Expression, random: Random, depth: number): string {
    switch (expression.kind) {
      case 'text':
        return expression.text
      case 'set':
        return randomCharacter(expression.ranges, random)
      case 'rule':
        return this.#text(this.#rules.get(expression.name) as Expression, random, depth + 1)
      case 'sequence':
        return expression.items.map((item) => this.#text(item, random, depth)).join('')
      case 'choice':
        return this.#text(this.#pick(expression.items, random, depth), random, depth)
      default: {
        const { item, least, most } = expression
        const extra = depth > DEEPEST ? 0 : Math.floor(random() * (Math.min(most - least, MOST_REPEATS) + 1))
        // The most that is possible is where mistakes are.
        const count = most < 30 && depth <= DEEPEST && random() < 0.2 ? most : least + extra
        return Array.from({ length: count }, () => this.#text(item, random, depth)).join('')
      }
    }
  }

  #pick(items: readonly Expression[], random: Random, depth: number): Expression {
    const possible =
      depth <= DEEPEST
        ? items
        : items.toSorted((a, b) => heightOf(a, this.#heights) - heightOf(b, this.#heights)).slice(0, 1)
    return possible[Math.floor(random() * possible.length)] as Expression
  }
}

/** Common characters more often than others. */
function randomCharacter(ranges: readonly CodePointRange[], random: Random): string {
  const [first, last] = ranges[Math.floor(random() * ranges.length)] as CodePointRange
  const span = random() < 0.8 ? Math.min(last - first + 1, 100) : last - first + 1
  return String.fromCodePoint(first + Math.floor(random() * span))
}

/** How many rules deep the shortest text of each rule is. */
function heightsOf(rules: Grammar['rules']): Map<string, number> {
  const heights = new Map<string, number>()
  for (let changed = true; changed;) {
    changed = false
    for (const [name, body] of rules) {
      const height = heightOf(body, heights) + 1
      if (height < (heights.get(name) ?? Infinity)) {
        heights.set(name, height)
        changed = true
      }
    }
  }
  return heights
}

function heightOf(expression: Expression, heights: ReadonlyMap<string, number>): number {
  switch (expression.kind) {
    case 'rule':
      return heights.get(expression.name) ?? Infinity
    case 'sequence':
      return Math.max(0, ...expression.items.map((item) => heightOf(item, heights)))
    case 'choice':
      return Math.min(Infinity, ...expression.items.map((item) => heightOf(item, heights)))
    case 'repeat':
      return expression.least === 0 ? 0 : heightOf(expression.item, heights)
    default:
      return 0
  }
}
