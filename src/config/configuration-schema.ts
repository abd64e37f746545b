import type { JsonSchema } from '../base/shape.ts'
import { configurationShape } from './configuration-shape.ts'
import { BUILT_IN_ENGINES } from './engine-options.ts'

/** The JSON Schema of a configuration file, as `modelyard.schema.json` publishes it for editors (C2). */
export function configurationSchema(): JsonSchema {
  return {
    // Draft 7: what editors know best.
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Modelyard configuration',
    ...configurationShape(BUILT_IN_ENGINES).schema,
  }
}
