export interface Column {
  title: string
  align?: 'left' | 'right'
}

/** Plain columns, two spaces apart, headed by their titles; no line ends in blanks. Cells hold plain text or colour codes. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const titles = columns.map((column) => column.title)
  const widths = columns.map((_, index) =>
    Math.max(...[titles, ...rows].map((row) => visibleWidth(row[index] ?? ''))),
  )
  const renderRow = (row: readonly string[]): string =>
    columns
      .map((column, index) => pad(row[index] ?? '', widths[index] ?? 0, column.align ?? 'left'))
      .join('  ')
      .trimEnd()
  return [titles, ...rows].map(renderRow).join('\n')
}

/** `label  value` lines with the labels padded to one width; entries without a value are left out. */
export function renderFields(fields: readonly (readonly [string, string | undefined])[]): string {
  const shown = fields.filter((field): field is readonly [string, string] => field[1] !== undefined)
  const width = Math.max(0, ...shown.map(([label]) => label.length))
  return shown.map(([label, value]) => `${label.padEnd(width)}  ${value}`.trimEnd()).join('\n')
}

function pad(cell: string, width: number, align: 'left' | 'right'): string {
  const blanks = ' '.repeat(Math.max(0, width - visibleWidth(cell)))
  return align === 'right' ? blanks + cell : cell + blanks
}

/** Characters a terminal shows: colour codes take no room. */
export function visibleWidth(text: string): number {
  // oxlint-disable-next-line no-control-regex -- colour codes begin with the escape character
  return Array.from(text.replaceAll(/\u001B\[[\d;]*m/g, '')).length
}
