import { describe, expect, it } from 'vitest'
import { renderFields, renderTable, visibleWidth } from './table.ts'

describe('tables', () => {
  it('columns are as wide as their widest cell, numbers stand to the right, no line ends in blanks', () => {
    const table = renderTable(
      [{ title: 'MODEL' }, { title: 'SIZE', align: 'right' }, { title: 'NOTE' }],
      [
        ['smollm2', '1 GiB', ''],
        ['x', '512 MiB', 'small'],
      ],
    )
    expect(table).toBe(['MODEL       SIZE  NOTE', 'smollm2    1 GiB', 'x        512 MiB  small'].join('\n'))
  })

  it('colour codes take no room', () => {
    expect(visibleWidth('\u001B[31mred\u001B[39m')).toBe(3)
    const [head, row] = renderTable(
      [{ title: 'A' }, { title: 'B' }],
      [['\u001B[31mred\u001B[39m', 'x']],
    ).split('\n')
    expect(head).toBe('A    B')
    expect(row).toBe('\u001B[31mred\u001B[39m  x')
  })

  it('fields without a value are left out', () => {
    expect(
      renderFields([
        ['id', 'a'],
        ['longer', undefined],
        ['state', 'ready'],
      ]),
    ).toBe('id     a\nstate  ready')
  })
})
