import type { Sampling } from '../../tasks/sampling.ts'
import {
  asArray,
  asNumber,
  asString,
  invalidField,
  optionalFields,
  optionalNumber,
  type Fields,
  type NumberRange,
} from '../fields.ts'
import { foldSeed } from '../fold-seed.ts'

type NumberKey = Exclude<keyof Sampling, 'logitBias' | 'seed' | 'topK'>

/** Bounds as the API reference has them; the last two are extensions. */
const NUMBERS: readonly [name: string, key: NumberKey, range: NumberRange][] = [
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
  const sampling: Sampling = {}
  for (const [name, key, range] of NUMBERS) {
    const value = optionalNumber(body, name, range)
    if (value !== undefined) sampling[key] = value
  }
  const topK = optionalNumber(body, 'top_k', { least: -1, integer: true })
  // −1 is what several peers take for "off"; here that is 0.
  if (topK !== undefined) sampling.topK = Math.max(0, topK)
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

/** A string or up to four; empty strings are refused, since they would end every answer at once (BR-41). */
export function decodeStop(body: Fields): string[] {
  const value = body['stop']
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [checkStop(value, 'stop')]
  const stops = asArray(value, 'stop')
  if (stops.length > MOST_STOPS) {
    throw invalidField('stop', `'stop' has ${stops.length} strings; at most ${MOST_STOPS} are allowed.`)
  }
  return stops.map((stop, index) => checkStop(asString(stop, `stop[${index}]`), `stop[${index}]`))
}

function checkStop(stop: string, param: string): string {
  if (stop === '') throw invalidField(param, `'${param}' must not be empty.`)
  return stop
}

/** Tokens to generate; 0 is a value. */
export function decodeMaxTokens(body: Fields, name: string): number | undefined {
  return optionalNumber(body, name, { least: 0, integer: true })
}
