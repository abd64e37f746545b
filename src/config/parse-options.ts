import type { Engine } from '../engines/engine.ts'
import type { YardDirectories } from './directories.ts'
import type { EngineOptionTable } from './engine-options.ts'

export interface ParseOptions {
  directories: YardDirectories
  /** Folder that relative paths start at: the file's own, or the working directory. */
  directory: string
  /** Engines besides the built-in ones, by name. */
  engines?: EngineOptionTable
  /** Those of them that the configuration brought itself. */
  customEngines?: readonly Engine[]
  /** Words for the source in errors. Default `configuration`. */
  what?: string
}
