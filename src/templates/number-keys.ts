import { NUMBER_KEY } from './marks.ts'
import { plainValue, type Inside } from './python-text.ts'
import { callNode, filterName, isNode, methodName, type SyntaxNode } from './syntax-node.ts'

/*
 * Numbers as keys (`{512: 128}`), which the interpreter does not have: they are texts with a mark before them, told from real texts
 * wherever such a template takes a value by its key or its pairs.
 */

const KEY_OF = 'modelyard_key_of'
const PAIRS_OF = 'modelyard_pairs_of'
const SORTED_PAIRS_OF = 'modelyard_sorted_pairs_of'

export const NUMBER_KEY_FUNCTIONS: Readonly<Record<string, unknown>> = {
  [KEY_OF]: (key: unknown) => (typeof key === 'number' ? NUMBER_KEY + String(key) : key),
  [PAIRS_OF]: pairsOf,
  [SORTED_PAIRS_OF]: (values: unknown) => pairsOf(values).toSorted(([a], [b]) => (smaller(a, b) ? -1 : 1)),
}

/** Whether a template has an object with such keys. */
export function hasNumberKeys(tree: unknown): boolean {
  if (typeof tree !== 'object' || tree === null) return false
  if (tree instanceof Map) {
    const keys = [...tree.keys()] as unknown[]
    return keys.some(isNumber) || [...tree.values()].some((value) => hasNumberKeys(value))
  }
  return Object.values(tree).some((value) => hasNumberKeys(value))
}

/** The node as a template with such keys needs it. */
export function withNumberKeys(node: SyntaxNode): SyntaxNode {
  if (node.type === 'ObjectLiteral') return { ...node, value: markedKeys(node['value']) }
  if (node.type === 'MemberExpression') return member(node)
  if (node.type === 'FilterExpression') return pairs(node, filterName(node), node['operand'])
  if (node.type !== 'CallExpression') return node
  return pairs(node, methodName(node), isNode(node['callee']) ? node['callee']['object'] : undefined)
}

function pairs(node: SyntaxNode, name: string | undefined, values: unknown): SyntaxNode {
  if (name === 'dictsort') return callNode(SORTED_PAIRS_OF, [values])
  return name === 'items' ? callNode(PAIRS_OF, [values]) : node
}

function markedKeys(value: unknown): unknown {
  if (!(value instanceof Map)) return value
  const entries = [...(value as Map<SyntaxNode, unknown>)]
  return new Map(entries.map(([key, item]) => [isNumber(key) ? callNode(KEY_OF, [key]) : key, item]))
}

/** `x[k]`: of an object by its marked key, of a list by its place. */
function member(node: SyntaxNode): SyntaxNode {
  const { property, object } = node
  const isPlain =
    !isNode(property) || property.type === 'SliceExpression' || property.type === 'StringLiteral'
  if (node['computed'] !== true || isPlain) return node
  return {
    type: 'Ternary',
    condition: {
      type: 'TestExpression',
      operand: object,
      negate: false,
      test: { type: 'Identifier', value: 'mapping' },
    },
    trueExpr: { ...node, property: callNode(KEY_OF, [property]) },
    falseExpr: node,
  }
}

function isNumber(node: unknown): boolean {
  return isNode(node) && node.type === 'IntegerLiteral'
}

function pairsOf(values: unknown): [unknown, unknown][] {
  if (!(values instanceof Map)) throw new Error('only objects have pairs of keys and values')
  return [...(values as Map<string, Inside>)].map(([key, item]) => [unmarked(key), plainValue(item.value)])
}

function unmarked(key: string): unknown {
  return key.startsWith(NUMBER_KEY) ? Number(key.slice(NUMBER_KEY.length)) : key
}

function smaller(a: unknown, b: unknown): boolean {
  return typeof a === 'number' && typeof b === 'number'
    ? a < b
    : String(a).toLowerCase() < String(b).toLowerCase()
}
