import type { Sampling } from '../../tasks/sampling.ts'
import { asString, invalidField, optionalArray, optionalNumber, type Fields } from '../fields.ts'

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

/** Empty strings are refused, since they would end every answer at once (BR-41). */
export function decodeStopSequences(body: Fields): string[] {
  const stops = optionalArray(body, 'stop_sequences') ?? []
  if (stops.length > MOST_STOPS) {
    throw invalidField(
      'stop_sequences',
      `'stop_sequences' has ${stops.length} strings; at most ${MOST_STOPS} are allowed.`,
    )
  }
  return stops.map((value, index) => {
    const param = `stop_sequences[${index}]`
    const stop = asString(value, param)
    if (stop === '') throw invalidField(param, `'${param}' must not be empty.`)
    return stop
  })
}
