import { describe, expect, it } from 'vitest'
import type { Expression } from './expression.ts'
import { GrammarMachine } from './grammar-machine.ts'
import { GrammarWalk } from './grammar-walk.ts'
import { integerRange, numberRange } from './number-range.ts'

function accepts(body: Expression | 'too-fine' | undefined, text: string): boolean {
  if (body === undefined || body === 'too-fine') return false
  const walk = new GrammarWalk(new GrammarMachine({ root: 'root', rules: new Map([['root', body]]) }))
  return Array.from(text).every((character) => walk.step(character.codePointAt(0) ?? 0)) && walk.mayEnd
}

const closed = (value: number): { value: number; exclusive: boolean } => ({ value, exclusive: false })
const open = (value: number): { value: number; exclusive: boolean } => ({ value, exclusive: true })

describe('numbers within bounds', () => {
  it.each([
    [0, 9],
    [0, 130],
    [7, 1234],
    [-15, 27],
    [-300, -299],
    [99, 101],
    [-1, 0],
    [5, 5],
  ])('integers from %i to %i are those and no others', (least, most) => {
    const body = integerRange({ least: closed(least), most: closed(most) })
    for (let value = least - 120; value <= most + 120; value++) {
      expect([value, accepts(body, String(value))]).toEqual([value, value >= least && value <= most])
    }
    for (const odd of ['-0', '00', '01', '1.0', '+1', '']) expect(accepts(body, odd)).toBe(false)
  })

  it.each([
    [closed(-1.25), closed(2.5)],
    [open(-1.25), open(2.5)],
    [open(0), closed(0.1)],
    [closed(0.05), open(10)],
    [closed(-3), open(-2.99)],
  ])('decimals between $value and %o are those and no others', (least, most) => {
    const body = numberRange({ least, most })
    for (let units = -400; units <= 1100; units++) {
      const value = units / 100
      const above = least.exclusive ? value > least.value : value >= least.value
      const below = most.exclusive ? value < most.value : value <= most.value
      for (const text of [value.toFixed(2), String(value), value.toFixed(6)]) {
        expect([text, accepts(body, text)]).toEqual([text, above && below])
      }
    }
  })

  it('one bound is enough, and bounds may be written with exponents', () => {
    expect(accepts(integerRange({ least: open(9) }), '10')).toBe(true)
    expect(accepts(integerRange({ least: open(9) }), '9')).toBe(false)
    expect(accepts(numberRange({ most: closed(1e-7) }), '0.0000001')).toBe(true)
    expect(accepts(numberRange({ most: closed(1e-7) }), '0.0000002')).toBe(false)
    expect(accepts(numberRange({ least: closed(1e10) }), '9999999999')).toBe(false)
  })

  it('nothing between, and bounds finer than a double, are told apart', () => {
    expect(integerRange({ least: open(1), most: open(2) })).toBeUndefined()
    expect(numberRange({ least: closed(2), most: closed(1) })).toBeUndefined()
    expect(numberRange({ least: closed(0.1234567890123456) })).toBe('too-fine')
  })
})
