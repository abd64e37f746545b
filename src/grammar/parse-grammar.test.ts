import { describe, expect, it } from 'vitest'
import { outputGrammar } from './output-grammar.ts'
import { parseGrammar } from './parse-grammar.ts'
import { printGrammar } from './print-grammar.ts'
import { requireFewWays } from './require-few-ways.ts'
import { RandomText } from './random-text.ts'

const held = (grammar: string): string => outputGrammar({ type: 'grammar', grammar }).gbnf

describe('a grammar that somebody wrote', () => {
  it('is read with all that GBNF has, and means the same when it is written anew', () => {
    const written = [
      '# a comment',
      'root ::= "a\\"\\n\\x41\\u00e9" [^a-c\\]\\-]? (word | number',
      '   | "over lines")+ tail{2,3} . # at the end',
      'word ::= [a-zA-Z]+ "-"{2}',
      'number ::= "0" | [1-9] [0-9]*',
      'tail ::= "!" |',
      '"?"',
    ].join('\n')
    const grammar = parseGrammar(written)
    expect([...grammar.rules.keys()]).toEqual(['root', 'word', 'number', 'tail'])
    expect(parseGrammar(printGrammar(parseGrammar(printGrammar(grammar))))).toEqual(
      parseGrammar(printGrammar(grammar)),
    )
    expect(new RandomText(grammar).next(() => 0)).toBe('a"\nAé\u0001A--!!!\u0001')
  })

  it.each([
    ['', 'no rule "root"'],
    ['root ::= a', '"a", which is not defined'],
    ['root ::= "a', 'line 1, column 12: it ends too early'],
    ['root ::= (("a")', 'line 1, column 16: ")" is expected'],
    ['root ::= [z-a]', 'the wrong way round'],
    ['root ::= []', 'a set is empty'],
    ['root ::= "\\q"', 'this escape is not known'],
    ['root ::= "a"\nroot ::= "b"', 'defined twice'],
    ['root ::= <think>', 'tokens in angle brackets'],
    ['root = "a"', '"::=" is expected'],
    ['root ::= "a"{3,1}', 'from 3 to 1 times'],
    ['root ::= "a"{1000000000}', 'at most 100000'],
    ['root ::= root "a" | "b"', 'begins with itself'],
    ['root ::= a\na ::= b? a "x" | "y"\nb ::= "z"', 'begins with itself'],
    ['root ::= ("a"?)*', 'repeats without end what may be empty'],
    ['root ::= "a" root', 'no finite text'],
  ])('%s is refused with the reason', (grammar, reason) => {
    expect(() => held(grammar)).toThrow(reason)
  })
})

describe('a hostile grammar is refused at the door', () => {
  const chain = (count: number, body: (next: string) => string): string =>
    [
      'root ::= r0',
      ...Array.from({ length: count }, (_, index) => `r${index} ::= ${body(`r${index + 1}`)}`),
      `r${count} ::= "x"`,
    ].join('\n')

  it.each([
    ['of 10 MB', `root ::= "${'a'.repeat(10_000_000)}"`, 'characters; at most'],
    [
      'with 20,000 brackets',
      `root ::= ${'('.repeat(20_000)}"a"${')'.repeat(20_000)}`,
      'nested deeper than 64',
    ],
    [
      'whose repetitions multiply',
      'root ::= a{1000}\na ::= b{1000}\nb ::= ("x" "y" "z"){1000}{1000}',
      'elements',
    ],
    [
      'with a long chain of beginnings',
      chain(5_000, (next) => `${next} "y" | "z"`),
      'nested deeper than 2000',
    ],
    ['that can begin in 2^40 ways', chain(40, (next) => `${next} "y" | ${next} "z"`), 'can begin in'],
    ['that can be meant in 2^n ways', 'root ::= "x" root "y" | "x" root "z" | "x"', 'more than 4000 ways'],
    [
      'that hides this behind a beginning',
      'root ::= "begin " a\na ::= "xx" a "y" | "xx" a "z" | "x"',
      'more than 4000 ways',
    ],
  ])('%s', (_, grammar, reason) => {
    expect(() => held(grammar)).toThrow(reason)
  })

  it('a grammar whose every rule leads through the same thousand ways took ten minutes to check: now counted steps', () => {
    const ways = Array.from({ length: 1000 }, (_, index) => `${'[a-z]'.repeat(10)} "${index}"`)
    const rules = Array.from({ length: 3000 }, (_, index) => `r${index} ::= shared "${index}" r${index + 1}?`)
    const text = [`root ::= r0`, ...rules, 'r3000 ::= "end"', `shared ::= ${ways.join(' | ')}`].join('\n')
    const steps = requireFewWays(parseGrammar(text))
    // Each of 3,000 rules would look at 8 characters of 1,000 ways, 10 times: 240 million places.
    expect(steps).toBeGreaterThan(500_000)
    expect(steps).toBeLessThan(1_100_000)
    expect(held(text)).toContain('shared')
  })
})
