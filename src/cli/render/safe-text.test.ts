import { describe, expect, it } from 'vitest'
import { safeText } from './safe-text.ts'

describe('safeText', () => {
  it("a model's escape sequences become visible signs", () => {
    expect(safeText('a\u001B[2Jb\u0007\u009Bc\u007F')).toBe('a␛[2Jb␇\uFFFDc␡')
  })

  it('line feed, tab and every printable character stay', () => {
    expect(safeText('über\t日本\n😀 é')).toBe('über\t日本\n😀 é')
  })

  it('carriage returns go: they would write over the line', () => {
    expect(safeText('one\r\ntwo\rthree')).toBe('one\ntwothree')
  })
})
