import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { EXIT } from '../exit-codes.ts'
import { renderForecast } from '../render/forecast.ts'

/** `modelyard plan MODEL`: what loading it would do now. Exit code 4 when it would be refused. */
export async function plan(
  context: CommandContext,
  model: string,
  options: YardOptionsOfCommand,
): CommandResult {
  await using yard = await context.openYard(options, { models: [model] })
  const forecast = await yard.plan(model)
  if (options.json === true) await context.out.json(forecast)
  else await context.out.line(renderForecast(forecast))
  return forecast.outcome === 'refused' ? EXIT.memory : EXIT.ok
}
