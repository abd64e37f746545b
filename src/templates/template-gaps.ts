/*
 * What templates use and the interpreter lacks: their syntax trees are changed to call functions of ours instead. The interpreter is
 * @huggingface/jinja 0.5.11; `test/templates/renders-as-jinja2.test.ts` compares every known template with Python.
 */

interface Node {
  type: string
  [field: string]: unknown
}

/** A value inside of the interpreter. */
interface Inside {
  type: string
  value: unknown
}

/** Names of the functions, which templates do not have otherwise. */
const TEXT_OF = 'modelyard_text_of'
const LEAST_OF = 'modelyard_least_of'
const FORMATTED = 'modelyard_formatted'

/** Functions that changed templates call. */
export const GAP_FUNCTIONS: Readonly<Record<string, unknown>> = {
  [TEXT_OF]: textOf,
  [LEAST_OF]: (values: readonly Inside[]) => Math.min(...values.map(({ value }) => Number(value))),
  [FORMATTED]: (text: string, ...values: readonly unknown[]) => {
    let next = 0
    return text.replaceAll('{}', () => textOf(values[next++] ?? ''))
  },
}

/** Changes a syntax tree in place. */
export function fillGaps(tree: unknown): void {
  if (typeof tree !== 'object' || tree === null) return
  for (const [key, value] of entriesOf(tree)) {
    fillGaps(value)
    if (isNode(value)) put(tree, key, filled(value))
  }
}

function entriesOf(tree: object): [unknown, unknown][] {
  return tree instanceof Map ? [...(tree as Map<unknown, unknown>)] : Object.entries(tree)
}

function put(tree: object, key: unknown, value: Node): void {
  if (tree instanceof Map) (tree as Map<unknown, unknown>).set(key, value)
  else Object.assign(tree, { [String(key)]: value })
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

function filled(node: Node): Node {
  if (node.type === 'FilterExpression') return filter(node)
  if (node.type === 'CallExpression') return method(node)
  if (node.type === 'ArrayLiteral') return listOfLists(node)
  return node
}

/** `x | string` of anything but texts, `x | min`. */
function filter(node: Node): Node {
  const name = isNode(node['filter']) ? node['filter']['value'] : undefined
  if (name === 'string') return call(TEXT_OF, [node['operand']])
  return name === 'min' ? call(LEAST_OF, [node['operand']]) : node
}

/** `'{}'.format(x)` */
function method(node: Node): Node {
  const { callee, args } = node
  if (!isNode(callee) || callee.type !== 'MemberExpression' || !Array.isArray(args)) return node
  const isFormat = isNode(callee['property']) && callee['property']['value'] === 'format'
  return isFormat && callee['computed'] !== true
    ? call(FORMATTED, [callee['object'], ...(args as unknown[])])
    : node
}

/** Pairs in a list are taken apart by loops, which lists can be and pairs cannot. */
function listOfLists(node: Node): Node {
  if (!Array.isArray(node['value'])) return node
  for (const item of node['value'] as unknown[]) {
    if (isNode(item) && item.type === 'TupleLiteral') item.type = 'ArrayLiteral'
  }
  return node
}

function call(name: string, args: unknown[]): Node {
  return { type: 'CallExpression', callee: { type: 'Identifier', value: name }, args }
}

/** As Python's `str` has it. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : pythonText(value)
}

function pythonText(value: unknown): string {
  if (value instanceof Map) {
    const items = [...(value as Map<string, Inside>)].map(
      ([key, item]) => `${quoted(key)}: ${insideText(item)}`,
    )
    return `{${items.join(', ')}}`
  }
  if (Array.isArray(value)) return `[${(value as Inside[]).map(insideText).join(', ')}]`
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return typeof value === 'number' ? String(value) : 'None'
}

function insideText({ value }: Inside): string {
  return typeof value === 'string' ? quoted(value) : pythonText(value)
}

function quoted(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll('\t', String.raw`\t`)
  if (!text.includes("'")) return `'${escaped}'`
  return text.includes('"') ? `'${escaped.replaceAll("'", String.raw`\'`)}'` : `"${escaped}"`
}
