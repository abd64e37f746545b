/** What is left of a whole after so many half-lives. `0.5 ** x` takes three times as long, and it is asked for every slot of whoever could go. */
export function leftAfter(halfLives: number): number {
  return Math.exp(-Math.LN2 * halfLives)
}
