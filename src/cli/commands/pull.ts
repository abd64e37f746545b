import { formatBytes } from '../../base/bytes.ts'
import { readOwner } from '../../host/home-lock.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { fetchModel } from '../fetch-model.ts'
import { modelFiles } from '../model-files.ts'
import { warningOfOversized } from '../oversized-model.ts'

/** `modelyard pull MODEL`: fetches its files; what is here already is left alone. A model that will not fit is fetched with a warning. */
export async function pull(
  context: CommandContext,
  model: string,
  options: YardOptionsOfCommand,
): CommandResult {
  const { spec, source, configuration, artifacts } = await modelFiles(context, model, options)
  const warningFor = warningOfOversized(context.clock, configuration, spec.id)
  const path = await fetchModel(context, artifacts, source, warningFor)
  const bytes = await artifacts.sizeOf(path)
  await tellServer(context, options)
  if (options.json === true) await context.out.json({ model: spec.id, source, path, bytes })
  else await context.out.line(`${spec.id} is here: ${path} (${formatBytes(bytes)})`)
}

/** A running server looks again which models there are when it is asked for its list. */
async function tellServer(context: CommandContext, options: YardOptionsOfCommand): Promise<void> {
  const owner = await readOwner(context.directories.home)
  if (owner?.url === undefined) return
  await using yard = await context.openYard(options)
  await yard.list()
}
