import { object } from '../../base/compound-shapes.ts'
import { choice } from '../../base/scalar-shapes.ts'
import { described, type Shape } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { readEngineOptions } from '../engine-options.ts'

/** Endings of graphs' names by the precision they stand for, as the transformers library has them; in the order of choice. */
export const PRECISIONS = {
  q8: '_quantized',
  fp32: '',
  fp16: '_fp16',
  int8: '_int8',
  uint8: '_uint8',
  q4: '_q4',
  q4f16: '_q4f16',
  bnb4: '_bnb4',
} as const

export type Precision = keyof typeof PRECISIONS

/** Options of a model that only this engine knows (E8). */
export interface TransformersOptions {
  /** Which of a model's graphs are loaded. Default: the first of {@link PRECISIONS} that it has, eight bits before full precision. */
  precision?: Precision
  /** How a vector is made of those of the tokens of a text or the pieces of an image (embeddings). Default `mean` for texts, `cls` for images. */
  pooling?: 'mean' | 'cls'
}

/** By name, for the configuration's check. */
export const transformersOptionFields: Record<keyof TransformersOptions, Shape<unknown>> = {
  precision: described(
    choice(...(Object.keys(PRECISIONS) as Precision[])),
    'Which graphs are loaded; default: q8 where there is one, else fp32, …',
  ),
  pooling: described(
    choice('mean', 'cls'),
    'How a vector is made of those of the tokens; default: mean for texts, cls for images',
  ),
}

const shape = object(transformersOptionFields) as Shape<TransformersOptions>

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function transformersOptions(spec: ModelSpec): TransformersOptions {
  return readEngineOptions('transformers', shape, spec)
}
