/** A value inside of the interpreter of templates. */
export interface Inside {
  type: string
  value: unknown
}

/** As Python's `str` has it. */
export function textOf(value: unknown): string {
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

/** What a value is outside of the interpreter. */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return (value as Inside[]).map((item) => plainValue(item.value))
  if (!(value instanceof Map)) return value
  const items = [...(value as Map<string, Inside>)]
  return Object.fromEntries(items.map(([key, item]) => [key, plainValue(item.value)]))
}
