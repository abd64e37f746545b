import { describe, expect, it } from 'vitest'
import { Table } from './table.ts'

describe('a table', () => {
  const table = new Table<number>().with('a', 1).with('b', 0).with('c', 3)

  it('has its values in the order in which their names came, also when one is another now', () => {
    const changed = table.with('b', 2)
    expect([...changed]).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
    expect([...changed.keys()]).toEqual(['a', 'b', 'c'])
    expect([...changed.values()]).toEqual([1, 2, 3])
  })

  it('is never changed in place', () => {
    table.with('a', 9).with('d', 4)
    table.without('a')
    expect([...table]).toEqual([
      ['a', 1],
      ['b', 0],
      ['c', 3],
    ])
  })

  it('tells a value of zero from none', () => {
    expect([table.get('b'), table.has('b')]).toEqual([0, true])
    expect([table.get('d'), table.has('d')]).toEqual([undefined, false])
  })

  it('finds the others when one is gone, and puts that at the end when it comes again', () => {
    const without = table.without('b')
    expect([without.get('a'), without.get('b'), without.get('c')]).toEqual([1, undefined, 3])
    expect([...without.with('b', 5).keys()]).toEqual(['a', 'c', 'b'])
    expect([...table.without('nobody')]).toEqual([...table])
  })
})
