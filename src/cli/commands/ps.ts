import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { renderStatus } from '../render/state-tables.ts'

/** `modelyard ps`: instances, queue, runs and memory. As JSON the state route's parts of the same names. */
export async function ps(context: CommandContext, options: YardOptionsOfCommand): CommandResult {
  await using yard = await context.openYard(options)
  const { instances, queue, activity, memory, threads, runs, contexts } = await yard.state()
  const status = { instances, queue, activity, memory, threads, runs, contexts }
  if (options.json === true) await context.out.json(status)
  else await context.out.line(renderStatus(status))
}
