import type { Sampling } from '../../tasks/sampling.ts'
import { decodeStops } from '../decode-stops.ts'
import { asNumber, invalidField, optionalFields, optionalNumber, type Fields } from '../fields.ts'
import { foldSeed } from '../fold-seed.ts'
import { decodeSamplingNumbers, type SamplingNumbers } from '../sampling-numbers.ts'

/** Bounds as the API reference has them; the last two are extensions. */
const NUMBERS: SamplingNumbers = [
  ['temperature', 'temperature', { least: 0, most: 2 }],
  ['top_p', 'topP', { least: 0, most: 1 }],
  ['presence_penalty', 'presencePenalty', { least: -2, most: 2 }],
  ['frequency_penalty', 'frequencyPenalty', { least: -2, most: 2 }],
  ['min_p', 'minP', { least: 0, most: 1 }],
  ['repeat_penalty', 'repeatPenalty', { above: 0 }],
]

const MOST_STOPS = 4

/** The fields of sampling that chat and completions share. */
export function decodeSampling(body: Fields): Sampling {
  const sampling = decodeSamplingNumbers(body, NUMBERS)
  const seed = optionalNumber(body, 'seed', { integer: true })
  if (seed !== undefined) sampling.seed = foldSeed(seed)
  const logitBias = decodeLogitBias(body)
  if (logitBias !== undefined) sampling.logitBias = logitBias
  return sampling
}

function decodeLogitBias(body: Fields): Record<number, number> | undefined {
  const fields = optionalFields(body, 'logit_bias')
  if (fields === undefined) return undefined
  const bias: Record<number, number> = {}
  for (const [token, value] of Object.entries(fields)) {
    if (!/^\d{1,9}$/.test(token))
      throw invalidField('logit_bias', `'logit_bias' has a key that is no token id.`)
    bias[Number(token)] = asNumber(value, `logit_bias.${token}`, { least: -100, most: 100 })
  }
  return Object.keys(bias).length === 0 ? undefined : bias
}

/** A string or up to four. */
export function decodeStop(body: Fields): string[] {
  return decodeStops(body['stop'], 'stop', MOST_STOPS)
}

/** Tokens to generate; 0 is a value. */
export function decodeMaxTokens(body: Fields, name: string): number | undefined {
  return optionalNumber(body, name, { least: 0, integer: true })
}
