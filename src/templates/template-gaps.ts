import { hasNumberKeys, NUMBER_KEY_FUNCTIONS, withNumberKeys } from './number-keys.ts'
import { plainValue, textOf, type Inside } from './python-text.ts'
import { joinedToSafe, SAFE_TEXT_FUNCTIONS } from './safe-texts.ts'
import { callNode, filterName, isNode, methodName, type SyntaxNode } from './syntax-node.ts'

/*
 * What templates use and the interpreter lacks: their syntax trees are changed to call functions of ours instead. The interpreter is
 * @huggingface/jinja 0.5.11; `test/templates/renders-as-jinja2.test.ts` compares every known template with Python.
 */

/** Names of the functions, which templates do not have otherwise. */
const TEXT_OF = 'modelyard_text_of'
const LEAST_OF = 'modelyard_least_of'
const FORMATTED = 'modelyard_formatted'
const APPENDED = 'modelyard_appended'
const TAKEN = 'modelyard_taken'

/** Functions that changed templates call. */
export const GAP_FUNCTIONS: Readonly<Record<string, unknown>> = {
  ...NUMBER_KEY_FUNCTIONS,
  ...SAFE_TEXT_FUNCTIONS,
  [TEXT_OF]: textOf,
  [LEAST_OF]: (values: readonly Inside[]) => Math.min(...values.map(({ value }) => Number(value))),
  [FORMATTED]: (text: string, ...values: readonly unknown[]) => {
    let next = 0
    return text.replaceAll('{}', () => textOf(values[next++] ?? ''))
  },
  // The interpreter hands its own list over, so that it is this list that changes.
  [APPENDED]: (list: Inside[], items: readonly Inside[]) => {
    list.push(...items)
    return null
  },
  [TAKEN]: (list: Inside[], place = -1) => plainValue(list.splice(place, 1)[0]?.value ?? null),
}

/** Changes a syntax tree in place. */
export function fillGaps(tree: unknown): void {
  const numberKeys = hasNumberKeys(tree)
  fill(tree, (node) => (numberKeys ? withNumberKeys(filled(node)) : filled(node)))
}

function fill(tree: unknown, change: (node: SyntaxNode) => SyntaxNode): void {
  if (typeof tree !== 'object' || tree === null) return
  for (const [key, value] of entriesOf(tree)) {
    fill(value, change)
    // What a value is put into stays as it is.
    if (isNode(value) && key !== 'assignee') put(tree, key, change(value))
  }
}

function entriesOf(tree: object): [unknown, unknown][] {
  return tree instanceof Map ? [...(tree as Map<unknown, unknown>)] : Object.entries(tree)
}

function put(tree: object, key: unknown, value: SyntaxNode): void {
  if (tree instanceof Map) (tree as Map<unknown, unknown>).set(key, value)
  else Object.assign(tree, { [String(key)]: value })
}

function filled(node: SyntaxNode): SyntaxNode {
  if (node.type === 'FilterExpression') return filter(node)
  if (node.type === 'CallExpression') return method(node)
  if (node.type === 'BinaryExpression') return joinedToSafe(node)
  if (node.type === 'ArrayLiteral') return listOfLists(node)
  return node
}

const ITERATING = new Set(['select', 'reject', 'selectattr', 'rejectattr', 'map'])

/** `x | string` of anything but texts, `x | min`; `none | selectattr(…)` is empty. */
function filter(node: SyntaxNode): SyntaxNode {
  const { operand } = node
  const name = filterName(node)
  if (name === 'string') return callNode(TEXT_OF, [operand])
  if (name === 'min') return callNode(LEAST_OF, [operand])
  if (name === undefined || !ITERATING.has(name)) return node
  const nothing = { type: 'ArrayLiteral', value: [] }
  const list = { type: 'BinaryExpression', operator: { value: 'or' }, left: operand, right: nothing }
  return { ...node, operand: list }
}

/** `'{}'.format(x)`, `list.append(x)`, `list.pop(0)` */
function method(node: SyntaxNode): SyntaxNode {
  const { callee, args } = node
  if (!isNode(callee) || !Array.isArray(args)) return node
  const given = [callee['object'], ...(args as unknown[])]
  switch (methodName(node)) {
    case 'format':
      return callNode(FORMATTED, given)
    case 'append':
      return callNode(APPENDED, [callee['object'], { type: 'ArrayLiteral', value: args }])
    case 'pop':
      return callNode(TAKEN, given)
    default:
      return node
  }
}

/** Pairs in a list are taken apart by loops, which lists can be and pairs cannot. */
function listOfLists(node: SyntaxNode): SyntaxNode {
  if (!Array.isArray(node['value'])) return node
  for (const item of node['value'] as unknown[]) {
    if (isNode(item) && item.type === 'TupleLiteral') item.type = 'ArrayLiteral'
  }
  return node
}
