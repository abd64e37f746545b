import type { Explanation } from '../../server/control-port.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'

/** `modelyard why REQUEST|MODEL`: what it waited for, why it is where it is, who had to go for it (R19). */
export async function why(
  context: CommandContext,
  name: string,
  options: YardOptionsOfCommand,
): CommandResult {
  await using yard = await context.openYard(options)
  const explanation = await yard.why(name)
  if (options.json === true) await context.out.json(explanation)
  else await context.out.line(renderExplanation(explanation))
}

/** The reasons as a list, then what happened with its times. */
export function renderExplanation({ subject, id, model, reasons, events }: Explanation): string {
  const head = subject === 'run' ? `${id} on ${model}` : model
  const lines = [head, ...reasons.map((reason) => `  - ${reason}`)]
  if (events.length === 0) return lines.join('\n')
  return [...lines, '', ...events.map(({ at, text }) => `${new Date(at).toISOString()}  ${text}`)].join('\n')
}
