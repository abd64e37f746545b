import { ModelyardError } from '../base/errors.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { parseConfiguration } from './parse-configuration.ts'
import type { YardConfiguration } from './yard-configuration.ts'

/** A model nobody configured: everything as the configuration's defaults have it. */
export function defaultSpec({ directories }: YardConfiguration, id: string, source: string): ModelSpec {
  const input = { models: { [id]: { source } } }
  const { models } = parseConfiguration(input, { directories, directory: directories.models })
  const [spec] = models
  if (spec === undefined) throw new ModelyardError('internal', `No spec came of "${id}".`)
  return spec
}
