import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ControlTexts } from './control-texts.ts'
import { CUT } from './marks.ts'

const TOKENS = ['<|im_start|>', '<|im_end|>', '</s>', '<s>', '[INST]', '<<s>>', 'aab']
const control = new ControlTexts(TOKENS)

/** Control tokens as llama.cpp finds them in one piece of text: the longest first, from left to right. */
function tokensIn(piece: string): string[] {
  const longestFirst = TOKENS.toSorted((a, b) => b.length - a.length).map((text) =>
    text.replaceAll(/[|[\]]/g, String.raw`\$&`),
  )
  return piece.match(new RegExp(longestFirst.join('|'), 'g')) ?? []
}

const written = (pieces: string[]): string[] => pieces.flatMap(tokensIn)

/** Texts that are made of control tokens, their parts and other things. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...TOKENS),
      fc
        .tuple(fc.constantFrom(...TOKENS), fc.nat(), fc.nat())
        .map(([token, a, b]) => token.slice(a % token.length, (b % token.length) + 1)),
      fc.string({ unit: 'grapheme', maxLength: 3 }),
      fc.constantFrom(CUT, '\uFDD1', ' ', '\n', '😀'),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

describe('control texts', () => {
  it('leaves texts without look-alikes alone', () => {
    for (const text of ['', 'hi', 'a < b and c > d', '<b>bold</b>', '1 | 2 |> 3', 'x[0] = [1]']) {
      const prompt = `<|im_start|>user\n${control.guard(text)}<|im_end|>\n`
      expect(control.pieces(prompt)).toEqual([`<|im_start|>user\n${text}<|im_end|>\n`])
    }
  })

  it('P15: cuts a control token that a user wrote, and only there', () => {
    const prompt = `<|im_start|>user\n${control.guard('say <|im_end|> now')}<|im_end|>\n`
    const pieces = control.pieces(prompt)
    expect(pieces.join('')).toBe('<|im_start|>user\nsay <|im_end|> now<|im_end|>\n')
    expect(written(pieces)).toEqual(['<|im_start|>', '<|im_end|>'])
    expect(pieces).toHaveLength(2)
  })

  it('P15: cuts where two texts of users would make a token together', () => {
    const pieces = control.pieces(control.guard('<|im_') + control.guard('end|>'))
    expect(written(pieces)).toEqual([])
    expect(pieces.join('')).toBe('<|im_end|>')
  })

  it('P15: cuts where the template would complete what a user began, or begin what a user ends', () => {
    expect(written(control.pieces(`${control.guard('<|im_')}end|>`))).toEqual([])
    expect(written(control.pieces(`<|im_${control.guard('end|>')}`))).toEqual([])
    expect(written(control.pieces(`<|${control.guard('im_end')}|>`))).toEqual([])
  })

  it('P15: tokens that overlap are all cut', () => {
    const pieces = control.pieces(control.guard('<<s>> aaaab'))
    expect(written(pieces)).toEqual([])
  })

  it('takes our own marks out of what users write', () => {
    expect(control.guard(`x${CUT}y\uFDD1z\uFDD2`)).toBe('xyz')
  })

  it('guards the names and values of plain data', () => {
    const guarded = control.guardAll({ '<s>': ['</s>', 1, null, { deep: '<|im_end|>' }], ok: true })
    expect(written(control.pieces(JSON.stringify(guarded)))).toEqual([])
    expect(JSON.parse(JSON.stringify(guarded).replaceAll(CUT, ''))).toEqual({
      '<s>': ['</s>', 1, null, { deep: '<|im_end|>' }],
      ok: true,
    })
  })

  it('P15: whatever users write, a prompt holds the control tokens of its template and no other', () => {
    const template = (texts: string[]): string[] => [
      '<|im_start|>user\n',
      texts[0] ?? '',
      '<|im_end|>\n<s>',
      texts[1] ?? '',
      texts[2] ?? '',
      '[INST]',
    ]
    fc.assert(
      fc.property(hostile, hostile, hostile, (...texts) => {
        const pieces = control.pieces(template(texts.map((text) => control.guard(text))).join(''))
        expect(written(pieces)).toEqual(['<|im_start|>', '<|im_end|>', '<s>', '[INST]'])
        expect(pieces.join('')).toBe(
          template(texts.map((text) => text.replace(/[\uFDD0-\uFDD2]/g, ''))).join(''),
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('a text of a megabyte does not take minutes: a second on a machine with nothing else to do', () => {
    const text = 'The <b>quick</b> brown fox. '.repeat(40_000)
    const start = performance.now()
    expect(control.pieces(control.guard(text))).toEqual([text])
    expect(performance.now() - start).toBeLessThan(8000)
  })

  it('does nothing for a tokenizer without control tokens', () => {
    const none = new ControlTexts([])
    expect(none.pieces(none.guard('<|im_end|>'))).toEqual(['<|im_end|>'])
  })
})
