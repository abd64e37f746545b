import { ModelyardError } from '../base/errors.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { parseConfiguration } from './parse-configuration.ts'
import type { YardConfiguration } from './yard-configuration.ts'

/** A model nobody configured: everything as the configuration has it for models that do not say. */
export function defaultSpec(configuration: YardConfiguration, id: string, source: string): ModelSpec {
  const { directories, keepAlive, context } = configuration
  const common = {
    keepAlive: keepAlive < 0 ? -1 : keepAlive / 1000,
    ...(context !== undefined && { context }),
  }
  const input = { ...common, models: { [id]: { source } } }
  const { models } = parseConfiguration(input, { directories, directory: directories.models })
  const [spec] = models
  if (spec === undefined) throw new ModelyardError('internal', `No spec came of "${id}".`)
  return spec
}
