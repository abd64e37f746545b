import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Rows of the requirements, rules of the design and cases from the field. Each is the name of a test, so that whoever breaks it reads what it was for. */
const ROWS = [
  ...numbered('P', 1, 16),
  ...numbered('M', 1, 22),
  ...numbered('E', 1, 8),
  ...numbered('S', 1, 6),
  ...numbered('H', 1, 7),
  ...numbered('C', 0, 2),
  ...numbered('F', 1, 28),
  ...numbered('R', 1, 20),
  ...numbered('BR-', 1, 73, 2),
]

function numbered(letter: string, first: number, last: number, digits = 1): string[] {
  return Array.from(
    { length: last - first + 1 },
    (_, index) => letter + String(first + index).padStart(digits, '0'),
  )
}

function testFiles(): string[] {
  return ['src', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts') && !import.meta.filename.endsWith(name))
      .map((name) => join(ROOT, folder, name)),
  )
}

/** The texts that name tests and groups: the first argument of the last call in `it('…')`, `describe.runIf(…)('…')`, `it.each([…])('…')`. */
function titlesIn(written: string): string[] {
  const source = written.replaceAll(/^\s*\/\/.*$/gm, '')
  return [...source.matchAll(/(?<![\w.'"`])(?:describe|it|test)\b(?:\.\w+)*(?=\()/g)].flatMap((call) => {
    let at = call.index + call[0].length
    for (;;) {
      const argument = /^\(\s*(['"`])((?:\\.|(?!\1).)*)\1/s.exec(source.slice(at, at + 1000))
      if (argument !== null) return argument[2] ?? ''
      at = endOfBrackets(source, at)
      if (source[at] !== '(') return []
    }
  })
}

/** The place behind the bracket that closes the one at `start`; brackets in texts do not count. */
function endOfBrackets(source: string, start: number): number {
  const tokens = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/.*|[()]/g
  tokens.lastIndex = start
  let depth = 0
  for (let token = tokens.exec(source); token !== null; token = tokens.exec(source)) {
    if (token[0] === '(') depth++
    else if (token[0] === ')' && --depth === 0) return tokens.lastIndex
  }
  return source.length
}

it('every row, rule and case is the name of a test', () => {
  const titles = testFiles().flatMap((path) => titlesIn(readFileSync(path, 'utf8')))
  expect(titles.length).toBeGreaterThan(1000)
  const named = new Set(titles.flatMap((title) => title.match(/\b(?:BR-|[A-Z])\d+\b/g) ?? []))
  expect(ROWS.filter((row) => !named.has(row))).toEqual([])
})

it('names of tests are found in every form they are written in, and rows in comments and values are no names', () => {
  const source = [
    "describe('M1: a', () => {",
    "  it.each([['x)', 1], [\"M2 (\", 2]])('%s of M3', () => expect('M4').toBe(1))",
    "  it.runIf(has('M5'))(",
    "    'M6 in two lines',",
    '  )',
    "  // it is not M7: it('M8')",
    '})',
  ].join('\n')
  expect(titlesIn(source)).toEqual(['M1: a', '%s of M3', 'M6 in two lines'])
})
