import { choice, repeat, rule, sequence, type Expression } from './expression.ts'

/** llama.cpp multiplies out what is repeated, refuses products of 2,000, and takes larger limits for none. */
const MOST_AT_ONCE = 1000

/** The same rules, with repetitions as the engine can take them: of something simple, and not too many at once. */
export function withSimpleRepeats(rules: ReadonlyMap<string, Expression>): Map<string, Expression> {
  const simple = new Map<string, Expression>()
  for (const [name, body] of rules) {
    let parts = 0
    const hoist: Hoist = (part) => {
      const known = part.kind === 'text' || part.kind === 'set' || part.kind === 'rule'
      if (known) return part
      let fresh = `${name}-part-${parts++}`
      while (rules.has(fresh)) fresh = `${name}-part-${parts++}`
      simple.set(fresh, part)
      return rule(fresh)
    }
    simple.set(name, simplified(body, hoist))
  }
  return simple
}

/** Gives a part a rule of its own, unless it is one symbol. */
type Hoist = (part: Expression) => Expression

function simplified(expression: Expression, hoist: Hoist): Expression {
  switch (expression.kind) {
    case 'sequence':
      return { kind: 'sequence', items: expression.items.map((item) => simplified(item, hoist)) }
    case 'choice':
      return { kind: 'choice', items: expression.items.map((item) => simplified(item, hoist)) }
    case 'repeat':
      return repeated(simplified(expression.item, hoist), expression.least, expression.most, hoist)
    default:
      return expression
  }
}

function repeated(item: Expression, least: number, most: number, hoist: Hoist): Expression {
  const isSmall = least <= MOST_AT_ONCE && (most <= MOST_AT_ONCE || most === Infinity)
  if (most === 1 && least <= 1) return repeat(item, least, most)
  const symbol = hoist(item)
  if (isSmall) return repeat(symbol, least, most)
  if (most === Infinity) return sequence(exactly(symbol, least, hoist), repeat(symbol, 0, Infinity))
  return sequence(exactly(symbol, least, hoist), upTo(symbol, most - least, hoist))
}

function exactly(symbol: Expression, count: number, hoist: Hoist): Expression {
  const { dozens, rest, many } = split(symbol, count, hoist)
  return sequence(repeat(many, dozens, dozens), repeat(symbol, rest, rest))
}

function upTo(symbol: Expression, count: number, hoist: Hoist): Expression {
  if (count <= MOST_AT_ONCE) return repeat(symbol, 0, count)
  const { dozens, rest, many } = split(symbol, count, hoist)
  return choice(
    sequence(repeat(many, dozens, dozens), repeat(symbol, 0, rest)),
    sequence(repeat(many, 0, dozens - 1), repeat(symbol, 0, MOST_AT_ONCE - 1)),
  )
}

function split(
  symbol: Expression,
  count: number,
  hoist: Hoist,
): { dozens: number; rest: number; many: Expression } {
  const dozens = Math.floor(count / MOST_AT_ONCE)
  const many = dozens === 0 ? symbol : hoist(sequence(repeat(symbol, MOST_AT_ONCE, MOST_AT_ONCE)))
  return { dozens, rest: count % MOST_AT_ONCE, many }
}
