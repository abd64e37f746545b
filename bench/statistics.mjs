/** Median of numbers; NaN for none. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** The value that a share of the numbers does not exceed: 0.5 is the middle one, 0.99 the worst of a hundred. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

/** `12.3 (11.8 … 13.1)`: the median and the spread of all rounds. */
export function spread(values, digits = 2) {
  const text = (value) => value.toFixed(digits)
  return `${text(median(values))} (${text(Math.min(...values))} … ${text(Math.max(...values))})`
}

/** Ratio of each pair of one round, so that a machine that changes its speed between rounds does not matter. */
export function ratios(ours, theirs) {
  return ours.map((value, index) => value / theirs[index])
}

export function row(name, text, target) {
  console.log(`${name.padEnd(58)} ${text}${target === undefined ? '' : `   target ${target}`}`)
}
