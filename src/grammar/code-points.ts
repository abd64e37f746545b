/** First and last code point, both included. */
export type CodePointRange = readonly [first: number, last: number]

/** All of Unicode but the surrogates, which no UTF-8 text has, and the null character, which ends a text for the engine. */
export const ANY_CODE_POINT: readonly CodePointRange[] = [
  [1, 0xd7_ff],
  [0xe0_00, 0x10_ff_ff],
]

/** Sorted, without overlaps or neighbours. */
export function united(ranges: readonly CodePointRange[]): CodePointRange[] {
  const joined: [number, number][] = []
  for (const [first, last] of [...ranges].sort(([a], [b]) => a - b)) {
    const previous = joined.at(-1)
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else joined.push([first, last])
  }
  return joined
}

/** What both have. */
export function common(some: readonly CodePointRange[], others: readonly CodePointRange[]): CodePointRange[] {
  const shared = some.flatMap(([first, last]) =>
    others.map(([from, to]): [number, number] => [Math.max(first, from), Math.min(last, to)]),
  )
  return united(shared.filter(([first, last]) => first <= last))
}

/** What all of Unicode has beside them. */
export function complement(ranges: readonly CodePointRange[]): CodePointRange[] {
  const gaps: [number, number][] = []
  let next = 0
  for (const [first, last] of united(ranges)) {
    if (first > next) gaps.push([next, first - 1])
    next = last + 1
  }
  if (next <= 0x10_ff_ff) gaps.push([next, 0x10_ff_ff])
  return common(gaps, ANY_CODE_POINT)
}

export function contains(ranges: readonly CodePointRange[], codePoint: number): boolean {
  return ranges.some(([first, last]) => first <= codePoint && codePoint <= last)
}
