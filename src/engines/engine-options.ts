import { readShape, type Shape } from '../base/shape.ts'
import type { ModelSpec } from '../models/model-spec.ts'

/** The options of a model that only its engine knows (E8). @throws ModelyardError `config_invalid` naming the model and the option */
export function readEngineOptions<Options>(engine: string, shape: Shape<Options>, spec: ModelSpec): Options {
  return readShape(shape, spec.engineOptions, { directory: '.', what: optionsOf(engine, spec) })
}

/** What errors call them. */
export function optionsOf(engine: string, { id }: ModelSpec): string {
  return `model "${id}" (engine "${engine}")`
}
