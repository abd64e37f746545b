import { SystemClock } from '../base/clock.ts'
import type { YardConfiguration } from '../config/yard-configuration.ts'
import { ArtifactStore } from '../models/artifact-store.ts'

/**
 * Looks for the files of these models that lie on this machine, so that a mistyped name is told before an engine is installed for it.
 * @throws ModelyardError `model_not_found`, `config_invalid` (several models in a folder), `model_file_invalid` (it cannot be read)
 */
export async function requireLocalFiles(
  { directories, models }: YardConfiguration,
  ids: readonly string[],
): Promise<void> {
  const store = new ArtifactStore({ folder: directories.models, clock: new SystemClock() })
  for (const { id, source } of models) {
    if (ids.includes(id) && source !== undefined) await store.requireLocal(source)
  }
}
