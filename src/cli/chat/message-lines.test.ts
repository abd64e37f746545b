import { describe, expect, it } from 'vitest'
import { MessageLines, type ChatInput } from './message-lines.ts'

function type(...lines: string[]): ChatInput[] {
  const collector = new MessageLines()
  return lines.map((line) => collector.add(line))
}

describe('MessageLines', () => {
  it('one line is one message, as it was typed', () => {
    expect(type('  two  blanks ')).toEqual([{ type: 'message', text: '  two  blanks ' }])
  })

  it('a blank line is nothing', () => {
    expect(type('', '   ')).toEqual([{ type: 'nothing' }, { type: 'nothing' }])
  })

  it('a backslash at the end takes the next line along', () => {
    expect(type('one\\', '\\', 'three')).toEqual([
      { type: 'more' },
      { type: 'more' },
      { type: 'message', text: 'one\n\nthree' },
    ])
  })

  it('three quotes hold everything between them together, blank lines, backslashes and slashes included', () => {
    expect(type('"""', 'a\\', '', '/clear', '"""').at(-1)).toEqual({
      type: 'message',
      text: 'a\\\n\n/clear',
    })
  })

  it('text may stand beside the three quotes', () => {
    expect(type('"""first', 'last"""').at(-1)).toEqual({ type: 'message', text: 'first\nlast' })
    expect(type('"""all of it"""')).toEqual([{ type: 'message', text: 'all of it' }])
  })

  it('an empty block is nothing, and the next line is a message of its own', () => {
    expect(type('"""', '"""', 'hello').slice(1)).toEqual([
      { type: 'nothing' },
      { type: 'message', text: 'hello' },
    ])
  })

  it('a slash and a word are a command with the rest as its argument', () => {
    expect(type('/System  You are a poet. ', '/clear')).toEqual([
      { type: 'command', name: 'system', argument: 'You are a poet.' },
      { type: 'command', name: 'clear', argument: '' },
    ])
  })

  it('two slashes send one, and a path is a message', () => {
    expect(type('//clear', '/usr/bin is a path')).toEqual([
      { type: 'message', text: '/clear' },
      { type: 'message', text: '/usr/bin is a path' },
    ])
  })

  it('a pasted line never ends the message, whatever it looks like', () => {
    const collector = new MessageLines()
    collector.addPart('/clear')
    collector.addPart('"""')
    expect(collector.unfinished).toBe(true)
    expect(collector.add('end')).toEqual({ type: 'message', text: '/clear\n"""\nend' })
  })

  it('clear forgets what was begun', () => {
    const collector = new MessageLines()
    collector.add('"""')
    collector.add('secret')
    collector.clear()
    expect(collector.unfinished).toBe(false)
    expect(collector.add('new')).toEqual({ type: 'message', text: 'new' })
  })
})
