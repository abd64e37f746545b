import type { LoadWish } from '../../runs/load-wish.ts'
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
import { refuseUnsupported } from '../parameter-table.ts'
import { OPTION_PARAMETERS } from './parameters.ts'

/** `options` as far as they concern a request. */
export interface DecodedOptions {
  sampling: Sampling
  stop: string[]
  maxTokens?: number
  /** Tokens of context that are asked for at least. */
  contextLength?: number
}

type NumberKey = Exclude<keyof Sampling, 'logitBias' | 'seed' | 'topK'>

const NUMBERS: readonly [name: string, key: NumberKey, range: NumberRange][] = [
  ['temperature', 'temperature', { least: 0, most: 100 }],
  ['top_p', 'topP', { least: 0, most: 1 }],
  ['min_p', 'minP', { least: 0, most: 1 }],
  ['presence_penalty', 'presencePenalty', { least: -2, most: 2 }],
  ['frequency_penalty', 'frequencyPenalty', { least: -2, most: 2 }],
  ['repeat_penalty', 'repeatPenalty', { above: 0, most: 100 }],
]

const MOST_STOPS = 256

/** @param param where the options stand: `options`, or `parameters` of a model that is created */
export function decodeOptions(body: Fields, param = 'options'): DecodedOptions {
  const options = optionalFields(body, param) ?? {}
  const parent = `${param}.`
  refuseUnsupported(options, OPTION_PARAMETERS, parent)
  const decoded: DecodedOptions = {
    sampling: decodeSampling(options, parent),
    stop: decodeStop(options['stop'], `${parent}stop`),
  }
  const maxTokens = optionalNumber(options, 'num_predict', { least: -2, integer: true }, parent)
  // −1 is without end, −2 until the context is full: here one is the other.
  if (maxTokens !== undefined && maxTokens >= 0) decoded.maxTokens = maxTokens
  const contextLength = optionalNumber(options, 'num_ctx', { least: 0, integer: true }, parent)
  if (contextLength !== undefined) decoded.contextLength = contextLength
  return decoded
}

/** `num_ctx` as a wish: the model is loaded anew where its context is smaller (M3). */
export function wishOf(contextLength: number | undefined): { wish?: LoadWish } {
  return contextLength === undefined ? {} : { wish: { context: contextLength } }
}

function decodeSampling(options: Fields, parent: string): Sampling {
  const sampling: Sampling = {}
  for (const [name, key, range] of NUMBERS) {
    const value = optionalNumber(options, name, range, parent)
    if (value !== undefined) sampling[key] = value
  }
  const topK = optionalNumber(options, 'top_k', { least: -1, integer: true }, parent)
  if (topK !== undefined) sampling.topK = Math.max(0, topK)
  const seed = options['seed']
  if (seed === undefined || seed === null) return sampling
  const wanted = asNumber(seed, `${parent}seed`, { integer: true })
  // −1 is Ollama's default: another one each time.
  if (wanted !== -1) sampling.seed = foldSeed(wanted)
  return sampling
}

/** One string or several; empty ones are refused, since they would end every answer at once (BR-41). */
function decodeStop(value: unknown, param: string): string[] {
  if (value === undefined || value === null) return []
  const stops = typeof value === 'string' ? [value] : asArray(value, param)
  if (stops.length > MOST_STOPS) {
    throw invalidField(param, `'${param}' has ${stops.length} strings; at most ${MOST_STOPS} are allowed.`)
  }
  return stops.map((entry, index) => {
    const path = typeof value === 'string' ? param : `${param}[${index}]`
    const stop = asString(entry, path)
    if (stop === '') throw invalidField(path, `'${path}' must not be empty.`)
    return stop
  })
}
