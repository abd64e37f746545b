import type { Sampling } from '../tasks/sampling.ts'
import { optionalNumber, type Fields, type NumberRange } from './fields.ts'

/** Fields of sampling by a dialect's names, with the bounds that it sets. */
export type SamplingNumbers = readonly [
  name: string,
  key: Exclude<keyof Sampling, 'logitBias' | 'seed' | 'topK'>,
  range: NumberRange,
][]

/** The fields that are there, and `top_k`. @param parent what errors put before a field's name */
export function decodeSamplingNumbers(fields: Fields, numbers: SamplingNumbers, parent = ''): Sampling {
  const sampling: Sampling = {}
  for (const [name, key, range] of numbers) {
    const value = optionalNumber(fields, name, range, parent)
    if (value !== undefined) sampling[key] = value
  }
  const topK = optionalNumber(fields, 'top_k', { least: -1, integer: true }, parent)
  // −1 is what several peers take for "off"; here that is 0.
  if (topK !== undefined) sampling.topK = Math.max(0, topK)
  return sampling
}
