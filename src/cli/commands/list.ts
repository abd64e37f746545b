import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { renderModelNotes, renderModels } from '../render/state-tables.ts'

interface ListOptions extends YardOptionsOfCommand {
  /** Endpoints are asked which models they have. */
  refresh?: boolean
}

/** `modelyard list`: every model that is known. As JSON the `models` of the state route. */
export async function list(context: CommandContext, options: ListOptions): CommandResult {
  await using yard = await context.openYard(options)
  if (options.refresh === true) await yard.refreshModelLists()
  const models = await yard.list()
  if (options.json === true) return await context.out.json(models)
  const { modelLists } = await yard.state()
  await context.out.line([renderModels(models), ...renderModelNotes(models, modelLists)].join('\n'))
}
