import { describe, expect, it } from 'vitest'
import { AlikeEvents } from './alike-events.ts'

function event(text: string, more: object = {}): string {
  return JSON.stringify({
    id: 'x',
    choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
    ...more,
  })
}

function learned(data: string, text: string, type: 'text' | 'reasoning' = 'text'): AlikeEvents {
  const alike = new AlikeEvents()
  alike.learn(data, { type, text })
  return alike
}

describe('events that are alike', () => {
  it('knows nothing before it has learned', () => {
    expect(new AlikeEvents().pieceOf(event('a'))).toBeUndefined()
    expect(new AlikeEvents().pieceOf('')).toBeUndefined()
  })

  it.each(['b', '', ' more words', 'é 😀', 'a: [1, {2}]', "it's"])('takes %j as the parser would', (text) => {
    expect(learned(event('a'), 'a').pieceOf(event(text))).toEqual({ type: 'text', text })
  })

  it.each(['say "x"', 'back\\slash', 'a\nb', '\u0000', 'x","role":"assistant'])(
    'leaves %j to the parser',
    (text) => {
      expect(learned(event('a'), 'a').pieceOf(event(text))).toBeUndefined()
    },
  )

  it('is not taken in by a text that ends the field and goes on like the rest', () => {
    const alike = learned('{"content":"a","x":1}', 'a')
    expect(alike.pieceOf('{"content":"b","x":1,"finish":"y","x":1}')).toBeUndefined()
  })

  it.each([
    ['another end', event('b', { usage: {} })],
    ['another beginning', JSON.stringify({ id: 'y', choices: [] })],
    ['less than the two', '{"id":"x"'],
  ])('leaves %s to the parser', (_, data) => {
    expect(learned(event('a'), 'a').pieceOf(data)).toBeUndefined()
  })

  it('takes spaces after the name, completions, and reasoning for what they are', () => {
    expect(learned('{"content": "a"}', 'a').pieceOf('{"content": "b"}')).toEqual({ type: 'text', text: 'b' })
    expect(learned('{"text":"a"}', 'a').pieceOf('{"text":"b"}')).toEqual({ type: 'text', text: 'b' })
    const thinking = learned('{"reasoning_content":"a"}', 'a', 'reasoning')
    expect(thinking.pieceOf('{"reasoning_content":"b"}')).toEqual({ type: 'reasoning', text: 'b' })
  })

  it.each([
    ['the name is there twice', '{"message":{"content":"a"},"delta":{"content":"a"}}', 'a'],
    ['the text is written in another way', String.raw`{"content":"\u00e9"}`, 'é'],
    ['the text is no plain one', String.raw`{"content":"a\nb"}`, 'a\nb'],
    ['the name is a value', '{"field":"content","delta":"a"}', 'a'],
  ])('learns nothing where %s', (_, data, text) => {
    expect(learned(data, text).pieceOf(data)).toBeUndefined()
  })

  it('what was learned last counts', () => {
    const alike = learned(event('a'), 'a')
    alike.learn(event('a', { created: 2 }), { type: 'text', text: 'a' })
    expect([alike.pieceOf(event('b')), alike.pieceOf(event('b', { created: 2 }))?.text]).toEqual([
      undefined,
      'b',
    ])
  })
})
