import { invalidField, optionalBoolean, optionalNumber, type Fields } from '../fields.ts'

const MOST_TOP_LOGPROBS = 20

/** Alternatives for each token; undefined = no log-probabilities are wanted. */
export function decodeLogprobs(body: Fields): number | undefined {
  const wanted = optionalBoolean(body, 'logprobs') ?? false
  const top = optionalNumber(body, 'top_logprobs', { least: 0, most: MOST_TOP_LOGPROBS, integer: true })
  if (wanted) return top ?? 0
  if (top === undefined || top === 0) return undefined
  throw invalidField('top_logprobs', `'top_logprobs' is only allowed when 'logprobs' is true.`)
}
