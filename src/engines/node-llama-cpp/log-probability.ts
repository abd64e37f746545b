import type { TokenLogprob } from '../../tasks/part.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Stands for "never", as in OpenAI's answers: JSON has no −∞. */
const NEVER = -9999

/** What the answer says about one token: how likely it was, and the likeliest others. */
export function tokenLogprob(
  token: number,
  distribution: ReadonlyMap<number, number>,
  alternatives: number,
  vocabulary: Vocabulary,
): TokenLogprob {
  const top: TokenLogprob['top'] = []
  for (const [other, probability] of distribution) {
    if (top.length >= alternatives) break
    top.push({ ...written(other, vocabulary), logprob: logarithm(probability) })
  }
  return { ...written(token, vocabulary), logprob: logarithm(distribution.get(token) ?? 0), top }
}

function written(token: number, vocabulary: Vocabulary): { text: string; bytes: number[] } {
  const bytes = vocabulary.bytesOf(token)
  return { text: Buffer.from(bytes).toString('utf8'), bytes: [...bytes] }
}

function logarithm(probability: number): number {
  return probability > 0 ? Math.max(NEVER, Math.log(probability)) : NEVER
}
