import {
  characters,
  choice,
  optional,
  repeat,
  rule,
  sequence,
  set,
  text,
  NOTHING,
  type Expression,
} from './expression.ts'
import type { RuleBook } from './rule-book.ts'

/** All that a JSON string may hold as it is; neither surrogates nor what UTF-8 cannot write. */
const PLAIN: Expression = set([
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0xd7_ff],
  [0xe0_00, 0x10_ff_ff],
])
const HEX = characters('0-9a-fA-F')
/** Digits that JavaScript's numbers hold without loss. */
const MOST_DIGITS = 15
const MOST_INDENT = 20

/** The rules that every grammar of JSON needs, added when they are first used. */
export class JsonRules {
  readonly #book: RuleBook

  constructor(book: RuleBook) {
    this.#book = book
  }

  /** Nothing, a space, or a new line with its indent: bounded, or some models would never write anything else. */
  get space(): Expression {
    const indent = repeat(characters(' \t'), 0, MOST_INDENT)
    return this.#book.add('space', choice(NOTHING, text(' '), sequence(text('\n'), indent)))
  }

  /** One character of a string; an escape counts as one, a pair of surrogates as well. */
  get character(): Expression {
    const low = sequence(characters('dD'), characters('c-fC-F'), repeat(HEX, 2, 2))
    const high = sequence(characters('dD'), characters('89abAB'), repeat(HEX, 2, 2))
    const others = sequence(characters('0-9a-ceA-CEfF'), repeat(HEX, 3, 3))
    const beforeSurrogates = sequence(characters('dD'), characters('0-7'), repeat(HEX, 2, 2))
    const escape = choice(
      characters('"\\/bfnrt'),
      sequence(text('u'), choice(others, beforeSurrogates, sequence(high, text('\\u'), low))),
    )
    return this.#book.add('character', choice(PLAIN, sequence(text('\\'), this.#book.add('escape', escape))))
  }

  get string(): Expression {
    return this.#book.add('string', this.stringOf(0, Infinity))
  }

  stringOf(least: number, most: number): Expression {
    return sequence(text('"'), repeat(this.character, least, most), text('"'))
  }

  get integer(): Expression {
    return this.#book.add('integer', choice(text('0'), sequence(optional(text('-')), this.#natural)))
  }

  get number(): Expression {
    const whole = choice(text('0'), this.#natural)
    const fraction = sequence(text('.'), repeat(characters('0-9'), 1, MOST_DIGITS))
    const exponent = sequence(
      characters('eE'),
      optional(characters('+-')),
      characters('0-9'),
      optional(characters('0-9')),
    )
    const number = sequence(optional(text('-')), whole, optional(fraction), optional(exponent))
    return this.#book.add('number', number)
  }

  get boolean(): Expression {
    return this.#book.add('boolean', choice(text('true'), text('false')))
  }

  /** Any JSON value. */
  get value(): Expression {
    return this.#recursive('value', () =>
      choice(this.object, this.array, this.string, this.number, this.boolean, text('null')),
    )
  }

  get object(): Expression {
    return this.#recursive('object', () => {
      const member = sequence(this.string, this.space, text(':'), this.space, this.value)
      return this.list('{', member, '}', 0, Infinity)
    })
  }

  get array(): Expression {
    return this.#recursive('array', () => this.list('[', this.value, ']', 0, Infinity))
  }

  /** Items in brackets with commas between them. */
  list(open: string, item: Expression, close: string, least: number, most: number): Expression {
    const { space, comma } = this
    const rest = repeat(sequence(comma, item), Math.max(0, least - 1), Math.max(0, most - 1))
    const items = sequence(item, rest, space)
    const inner = most === 0 ? NOTHING : least === 0 ? optional(items) : items
    return sequence(text(open), space, inner, text(close))
  }

  get comma(): Expression {
    return this.#book.add('comma', sequence(text(','), this.space))
  }

  get #natural(): Expression {
    return sequence(characters('1-9'), repeat(characters('0-9'), 0, MOST_DIGITS - 1))
  }

  readonly #names = new Map<string, string>()

  #recursive(hint: string, body: () => Expression): Expression {
    const known = this.#names.get(hint)
    if (known !== undefined) return rule(known)
    const name = this.#book.reserve(hint)
    this.#names.set(hint, name)
    this.#book.define(name, body())
    return rule(name)
  }
}
