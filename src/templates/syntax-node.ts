/** A node of a template's syntax tree, as @huggingface/jinja makes it. */
export interface SyntaxNode {
  type: string
  [field: string]: unknown
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value
}

export function callNode(name: string, args: readonly unknown[]): SyntaxNode {
  return { type: 'CallExpression', callee: { type: 'Identifier', value: name }, args: [...args] }
}

/** Name of the filter in `x | name` and `x | name(…)`. */
export function filterName({ filter }: SyntaxNode): string | undefined {
  if (!isNode(filter)) return undefined
  const named = filter.type === 'CallExpression' ? filter['callee'] : filter
  return isNode(named) && typeof named['value'] === 'string' ? named['value'] : undefined
}

/** Name of the method in `x.name(…)`. */
export function methodName({ callee }: SyntaxNode): string | undefined {
  if (!isNode(callee) || callee.type !== 'MemberExpression' || callee['computed'] === true) return undefined
  const { property } = callee
  return isNode(property) && typeof property['value'] === 'string' ? property['value'] : undefined
}
