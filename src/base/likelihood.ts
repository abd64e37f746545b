/** A logit, a number of any size, as how likely one thing is by itself: 0…1 (the logistic function). */
export function likelihood(logit: number): number {
  return 1 / (1 + Math.exp(-logit))
}
