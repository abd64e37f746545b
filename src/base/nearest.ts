/** Levenshtein distance of two short strings. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      next[j] = Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + cost)
    }
    row = next
  }
  return row[b.length] ?? 0
}

/**
 * The known names nearest to a mistyped one, best first, each once, at most `count`; only those close enough to be what was
 * meant.
 */
export function nearestNames(wrong: string, known: Iterable<string>, count = 3): string[] {
  const limit = Math.max(2, Math.ceil(wrong.length * 0.4))
  return [...new Set(known)]
    .map((name) => ({ name, far: distance(wrong.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, far }) => far <= limit || name.toLowerCase().includes(wrong.toLowerCase()))
    .sort((a, b) => a.far - b.far)
    .slice(0, count)
    .map(({ name }) => name)
}
