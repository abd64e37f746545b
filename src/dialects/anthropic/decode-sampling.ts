import type { Sampling } from '../../tasks/sampling.ts'
import { decodeStops } from '../decode-stops.ts'
import { optionalArray, optionalNumber, type Fields } from '../fields.ts'

const MOST_STOPS = 256

/** Bounds as the API reference has them. */
export function decodeSampling(body: Fields): Sampling {
  const sampling: Sampling = {}
  const temperature = optionalNumber(body, 'temperature', { least: 0, most: 1 })
  if (temperature !== undefined) sampling.temperature = temperature
  const topP = optionalNumber(body, 'top_p', { least: 0, most: 1 })
  if (topP !== undefined) sampling.topP = topP
  const topK = optionalNumber(body, 'top_k', { least: 0, integer: true })
  if (topK !== undefined) sampling.topK = topK
  return sampling
}

export function decodeStopSequences(body: Fields): string[] {
  return decodeStops(optionalArray(body, 'stop_sequences'), 'stop_sequences', MOST_STOPS)
}
