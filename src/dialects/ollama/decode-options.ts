import type { LoadWish } from '../../runs/load-wish.ts'
import type { Sampling } from '../../tasks/sampling.ts'
import { decodeStops } from '../decode-stops.ts'
import { asNumber, optionalFields, optionalNumber, type Fields } from '../fields.ts'
import { foldSeed } from '../fold-seed.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { decodeSamplingNumbers, type SamplingNumbers } from '../sampling-numbers.ts'
import { OPTION_PARAMETERS } from './parameters.ts'

/** `options` as far as they concern a request. */
export interface DecodedOptions {
  sampling: Sampling
  stop: string[]
  maxTokens?: number
  /** Tokens of context that are asked for at least. */
  contextLength?: number
}

const NUMBERS: SamplingNumbers = [
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
    stop: decodeStops(options['stop'], `${parent}stop`, MOST_STOPS),
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
  const sampling = decodeSamplingNumbers(options, NUMBERS, parent)
  const seed = options['seed']
  if (seed === undefined || seed === null) return sampling
  const wanted = asNumber(seed, `${parent}seed`, { integer: true })
  // −1 is Ollama's default: another one each time.
  if (wanted !== -1) sampling.seed = foldSeed(wanted)
  return sampling
}
