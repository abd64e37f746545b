import { mapOf, object } from '../../base/compound-shapes.ts'
import { number, text } from '../../base/scalar-shapes.ts'
import { described, type Shape } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { readEngineOptions } from '../engine-options.ts'

/** Options of a model that only this engine knows (E8). */
export interface SpeechOptions {
  /** Names of speakers, such as `alloy`, and their numbers in the model. */
  voices?: Record<string, number>
  /** Folder with espeak-ng's data; default: what `engines install speech` fetched. */
  pronunciation?: string
}

/** By name, for the configuration's check. */
export const speechOptionFields: Record<keyof SpeechOptions, Shape<unknown>> = {
  voices: described(
    mapOf(number({ min: 0, whole: true }), { pattern: /\S/, wants: 'the name of a voice' }),
    'Names of speakers, and their numbers in the model',
  ),
  pronunciation: described(text(), 'Folder with espeak-ng’s data'),
}

const shape = object(speechOptionFields) as Shape<SpeechOptions>

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function speechOptions(spec: ModelSpec): SpeechOptions {
  return readEngineOptions('speech', shape, spec)
}
