import type { ConfigurationInput } from './configuration-input.ts'
import type { ParseOptions } from './parse-options.ts'

/** What a configuration was put together from, so that it can be again when a setting changes (M2). Later ones win, settings come after the file. */
export interface ConfigurationLayers {
  /** A file's value, or the options of `createYard`. */
  file: unknown
  environment: ConfigurationInput
  commandLine: ConfigurationInput
  /** Path of the file, if there is one. */
  path?: string
  parsing: ParseOptions
}
