import { join, resolve } from 'node:path'
import { ENGINES_DIRECTORY } from '../models/paths.ts'

/**
 * Folder of engines in which the llama-server lies that was compiled here: kept, so that only the first run compiles, and one that was cut
 * goes on. `MODELYARD_COMPILED_ENGINES` names another, where there is one already.
 */
export const COMPILED_ENGINES: string = resolve(
  process.env['MODELYARD_COMPILED_ENGINES'] ?? join(import.meta.dirname, '../../.cache/compiled/engines'),
)

/** The engine that carries the source. */
export const CARRIER: string = join(ENGINES_DIRECTORY, 'node-llama-cpp')
