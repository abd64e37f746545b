import { SystemClock } from '../../base/clock.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { ArtifactStore } from '../../models/artifact-store.ts'
import type { CommandContext } from '../command-context.ts'
import { fetchModel } from '../fetch-model.ts'
import { warningOfOversized } from '../oversized-model.ts'

/** Fetches the models that were named on the command line, so that the first request need not wait for a download. */
export async function fetchNamedModels(
  context: CommandContext,
  configuration: YardConfiguration,
  named: readonly string[],
): Promise<void> {
  const { models, directories, downloads: transfer } = configuration
  const store = new ArtifactStore({ folder: directories.models, clock: new SystemClock(), transfer })
  for (const { id, source } of models) {
    if (!named.includes(id) || source === undefined) continue
    await fetchModel(context, store, source, warningOfOversized(context.clock, configuration, id))
  }
}
