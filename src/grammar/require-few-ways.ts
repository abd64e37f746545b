import type { Grammar } from './expression.ts'
import { GrammarMachine } from './grammar-machine.ts'
import { GrammarWalk } from './grammar-walk.ts'
import { refuseGrammar } from './refuse-grammar.ts'

/** Ways that a text can be meant in at once; the engine keeps each of them, and tries every token on each. */
export const MOST_WAYS = 4_000
const LONGEST_TRIAL = 40
/** From here on few ways are taken for few for ever. */
const CALM_AFTER = 12
const CALM_WAYS = 4
const MOST_CHARACTERS = 8
/** Places of the grammar that are looked at: many rules can each lead through the same thousands of ways. */
const MOST_VISITED = 1_000_000

/**
 * Refuses a grammar whose texts can be meant in ever more ways: the engine's memory would grow with each character. Tries, from each
 * rule, the characters that leave the most ways; what it misses is seen while the answer is made.
 * @returns places of the grammar that it looked at @throws invalid_request
 */
export function requireFewWays(grammar: Grammar): number {
  const machine = new GrammarMachine(grammar)
  let visited = 0
  for (const rule of grammar.rules.keys()) {
    if (visited >= MOST_VISITED) break
    const walk = new GrammarWalk(machine, rule)
    for (let length = 0; length < LONGEST_TRIAL && visited + walk.visited < MOST_VISITED; length++) {
      if (walk.ways > MOST_WAYS) refuseAmbiguous(rule)
      if (length >= CALM_AFTER && walk.ways <= CALM_WAYS) break
      const next = richestCharacter(walk)
      if (next === undefined) break
      walk.step(next)
    }
    visited += walk.visited
  }
  return visited
}

function refuseAmbiguous(rule: string): never {
  return refuseGrammar(
    `texts of the rule "${rule}" can be meant in more than ${MOST_WAYS} ways at once; make its alternatives begin differently.`,
  )
}

function richestCharacter(walk: GrammarWalk): number | undefined {
  let best: { character: number; ways: number } | undefined
  for (const character of walk.nextCharacters(MOST_CHARACTERS)) {
    const ways = walk.waysAfter(character)
    if (best === undefined || ways > best.ways) best = { character, ways }
  }
  return best?.character
}
