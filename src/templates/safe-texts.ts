import { textOf } from './python-text.ts'
import { callNode, filterName, isNode, type SyntaxNode } from './syntax-node.ts'

const ESCAPED = 'modelyard_escaped'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
}

export const SAFE_TEXT_FUNCTIONS: Readonly<Record<string, unknown>> = {
  [ESCAPED]: (value: unknown) =>
    textOf(value).replaceAll(/[&<>'"]/g, (character) => ENTITIES[character] ?? ''),
}

/** `'…' | safe + x`: in Python, what is added to a safe text is escaped as HTML, and the whole is safe; what is joined by `~` is not. */
export function joinedToSafe(node: SyntaxNode): SyntaxNode {
  const { operator, left, right } = node
  const word = isOperator(operator) ? operator.value : ''
  if (word !== '+' || (!isSafe(left) && !isSafe(right))) return node
  return { ...node, left: escaped(left), right: escaped(right), safe: true }
}

function isOperator(value: unknown): value is { value: string } {
  return typeof value === 'object' && value !== null && 'value' in value && typeof value.value === 'string'
}

function isSafe(node: unknown): boolean {
  if (!isNode(node)) return false
  return node['safe'] === true || (node.type === 'FilterExpression' && filterName(node) === 'safe')
}

function escaped(node: unknown): unknown {
  return isSafe(node) ? node : callNode(ESCAPED, [node])
}
