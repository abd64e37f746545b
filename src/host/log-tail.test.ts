import { describe, expect, it } from 'vitest'
import { LogTail } from './log-tail.ts'

function tailOf(...chunks: (string | Buffer)[]): string[] {
  const tail = new LogTail()
  for (const chunk of chunks) tail.write(Buffer.from(chunk))
  return tail.lines()
}

describe('the tail of a log', () => {
  it('joins lines over chunks and keeps a last line without its end', () => {
    expect(tailOf('one\ntw', 'o\nthr', 'ee')).toEqual(['one', 'two', 'three'])
  })

  it('keeps characters whole that are cut between chunks', () => {
    const bytes = Buffer.from('é€😀\n')
    expect(tailOf(bytes.subarray(0, 1), bytes.subarray(1, 4), bytes.subarray(4))).toEqual(['é€😀'])
  })

  it('keeps the last 40 lines (M10), without empty ones', () => {
    const lines = tailOf(Array.from({ length: 100 }, (_, line) => `${line}\n\n`).join(''))
    expect(lines).toHaveLength(40)
    expect(lines.at(0)).toBe('60')
    expect(lines.at(-1)).toBe('99')
  })

  it('bounds a line that never ends', () => {
    const lines = tailOf('x'.repeat(1e6), 'x'.repeat(1e6), '\nend\n')
    expect(lines.map((line) => line.length)).toEqual([1000, 3])
  })

  it('keeps what a terminal shows of a progress bar, wherever its pieces are cut', () => {
    expect(tailOf('\r 1/3\r 2/3', '\r 3/3', '\nend\r', '\n')).toEqual([' 3/3', 'end'])
    expect(tailOf('50 %\r')).toEqual(['50 %'])
    expect(tailOf('50 %\r', '60 %')).toEqual(['60 %'])
  })
})
