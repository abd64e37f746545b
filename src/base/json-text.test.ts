import { expect, it } from 'vitest'
import { jsonText } from './json-text.ts'

it.each([
  ['half \uD83D', '"half \uFFFD"'],
  ['\uDE00 second', '"\uFFFD second"'],
  ['whole 😀', '"whole 😀"'],
  [String.raw`plain \ud83d`, String.raw`"plain \\ud83d"`],
  [String.raw`\ud83d` + '\uD83D', String.raw`"\\ud83d` + '\uFFFD"'],
  ['', '""'],
])('of %j, half a character is none', (text, written) => {
  expect(jsonText(text)).toBe(written)
  expect(jsonText({ a: [text] })).toBe(`{"a":[${written}]}`)
})
