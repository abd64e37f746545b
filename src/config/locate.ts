import type { Document, Pair, ParsedNode, Scalar } from 'yaml'
import type { DataPath, Problem } from '../base/shape.ts'

/** Both count from 1. */
export interface Position {
  line: number
  column: number
}

/** Line and column of an offset, for texts that no parser has split into lines. */
export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** Offset of a problem's place in a YAML (or JSON) document; of the nearest place around it when it is not written there itself. */
export function offsetOf(document: Document, { path, at }: Problem): number {
  let node: unknown = document.contents
  let offset = startOf(node) ?? 0
  for (const [index, step] of path.entries()) {
    const found = childOf(document, node, step)
    if (found === undefined) return offset
    const last = index === path.length - 1
    offset = (last && at === 'value' ? startOf(found.value) : undefined) ?? found.start ?? offset
    node = found.value
  }
  return offset
}

interface Child {
  value: unknown
  /** Offset of the name, or of an item itself. */
  start: number | undefined
}

function childOf(document: Document, node: unknown, step: DataPath[number]): Child | undefined {
  const holder = resolved(document, node)
  if (!isCollection(holder)) return undefined
  if (typeof step === 'number') {
    const item: unknown = holder.items[step]
    return item === undefined ? undefined : { value: item, start: startOf(item) }
  }
  for (const pair of holder.items as Pair<Scalar>[]) {
    if (String(pair.key?.value) === step) return { value: pair.value, start: startOf(pair.key) }
  }
  return undefined
}

/** What an alias (`*name`) stands for. */
function resolved(document: Document, node: unknown): unknown {
  const alias = node as { resolve?: (document: Document) => unknown } | null
  return typeof alias?.resolve === 'function' ? alias.resolve(document) : node
}

function isCollection(node: unknown): node is { items: unknown[] } {
  return Array.isArray((node as { items?: unknown } | null)?.items)
}

function startOf(node: unknown): number | undefined {
  return (node as ParsedNode | null)?.range?.[0]
}
