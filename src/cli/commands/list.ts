import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { renderModels } from '../render/state-tables.ts'

/** `modelyard list`: every model that is known. As JSON the `models` of the state route. */
export async function list(context: CommandContext, options: YardOptionsOfCommand): CommandResult {
  await using yard = await context.openYard(options)
  const models = await yard.list()
  if (options.json === true) await context.out.json(models)
  else await context.out.line(renderModels(models))
}
