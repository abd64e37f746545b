import type { Expression, Grammar } from './expression.ts'
import { leftEdges } from './left-edges.ts'
import { refuseGrammar } from './refuse-grammar.ts'
import { requireFewWays } from './require-few-ways.ts'
import { emptyRules, finiteRules } from './rule-properties.ts'
import { rulesWithin } from './rules-within.ts'

const MOST_RULES = 20_000
/** Characters, sets and references after all repetitions are written out, as the engine does. */
const MOST_ELEMENTS = 100_000
/** The engine follows the beginnings of rules by recursion, and each way to a first character again for every token. */
const MOST_DEPTH = 2_000
const MOST_WAYS = 20_000
const MOST_WAYS_IN_ALL = 5_000_000

/**
 * Refuses a grammar that would make the engine fail, hang or crash: rules that are missing, begin with themselves or never end, and
 * more of anything than is sane. @throws ModelyardError `invalid_request`
 */
export function checkGrammar({ root, rules }: Grammar): void {
  if (!rules.has(root)) refuseGrammar(`it has no rule "${root}".`)
  if (rules.size > MOST_RULES)
    refuseGrammar(`it has ${rules.size} rules; at most ${MOST_RULES} are possible.`)
  requireDefined(rules)
  requireSize(rules)
  const finite = finiteRules(rules)
  const endless = [...rules.keys()].find((name) => !finite.has(name))
  if (endless !== undefined)
    refuseGrammar(`no finite text fits the rule "${endless}"; a recursion needs a way out.`)
  requireFewBeginnings(rules)
  requireFewWays({ root, rules })
}

function requireDefined(rules: Grammar['rules']): void {
  for (const [name, body] of rules) {
    const missing = rulesWithin(body).find((other) => !rules.has(other))
    if (missing !== undefined)
      refuseGrammar(`the rule "${name}" refers to "${missing}", which is not defined.`)
  }
}

function requireSize(rules: Grammar['rules']): void {
  let size = 0
  for (const body of rules.values()) size += sizeOf(body)
  if (size <= MOST_ELEMENTS) return
  refuseGrammar(
    `it has ${Math.ceil(size)} elements when repetitions are written out; at most ${MOST_ELEMENTS} are possible.`,
  )
}

function sizeOf(expression: Expression): number {
  switch (expression.kind) {
    case 'text':
      return expression.text.length + 1
    case 'set':
      return 2 * expression.ranges.length
    case 'rule':
      return 1
    case 'sequence':
    case 'choice':
      return expression.items.reduce((sum, item) => sum + sizeOf(item) + 1, 1)
    default: {
      const { item, least, most } = expression
      const count = most === Infinity ? least + 1 : most
      // Larger numbers are printed as repetitions of a thousand each.
      return count <= 1000 ? 2 + count * (sizeOf(item) + 2) : 4 * 1000 * (sizeOf(item) + 2) + count / 250
    }
  }
}

/** No rule may begin with itself; the ways to a first character are counted, and how deep they go. */
function requireFewBeginnings(rules: Grammar['rules']): void {
  const edges = leftEdges(rules, emptyRules(rules))
  const ways = new Map<string, { count: number; depth: number }>()
  let all = 0
  for (const name of rules.keys()) {
    for (const done of inOrder(name, edges, ways)) {
      const found = done.edges.map(({ to, times }) => ({
        ...(ways.get(to) ?? { count: 1, depth: 0 }),
        times,
      }))
      const count = found.reduce((sum, way) => sum + way.count * way.times, 1)
      const depth = found.reduce((deepest, way) => Math.max(deepest, way.depth), 0) + 1
      ways.set(done.name, { count, depth })
      all += count
      if (count > MOST_WAYS || all > MOST_WAYS_IN_ALL) {
        refuseGrammar(
          `the rule "${done.name}" can begin in ${count} ways; at most ${MOST_WAYS} are possible.`,
        )
      }
      if (depth > MOST_DEPTH)
        refuseGrammar(`the beginning of the rule "${done.name}" is nested deeper than ${MOST_DEPTH}.`)
    }
  }
}

type Edges = ReturnType<typeof leftEdges>

/** The rule and all it may begin with, each after those that it may begin with itself. Without recursion: chains may be long. */
function* inOrder(
  start: string,
  edges: Edges,
  known: ReadonlyMap<string, unknown>,
): Generator<{ name: string; edges: NonNullable<ReturnType<Edges['get']>> }> {
  const open = new Set<string>()
  const path: { name: string; next: number }[] = known.has(start) ? [] : [{ name: start, next: 0 }]
  open.add(start)
  for (let here = path.at(-1); here !== undefined; here = path.at(-1)) {
    const own = edges.get(here.name) ?? []
    const edge = own[here.next++]
    if (edge === undefined) {
      path.pop()
      open.delete(here.name)
      yield { name: here.name, edges: own }
    } else if (open.has(edge.to)) {
      refuseGrammar(`the rule "${edge.to}" begins with itself; left recursion is not possible.`)
    } else if (!known.has(edge.to)) {
      open.add(edge.to)
      path.push({ name: edge.to, next: 0 })
    }
  }
}
