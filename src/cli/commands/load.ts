import { formatDuration } from '../../base/durations.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { noteWaiting } from '../render/waiting.ts'
import type { YardClient } from '../yard-client.ts'
import { isCalled } from '../../models/model-spec.ts'
import type { LoadWish } from '../../runs/load-wish.ts'

interface ForceOptions extends YardOptionsOfCommand {
  force?: boolean
}

interface LoadCommandOptions extends ForceOptions {
  context?: number
  slots?: number
}

/**
 * `modelyard load MODEL`: brings it into the running server's memory; with `--force` beyond the budget, up to the absolute limit (M5), with
 * `--context` and `--slots` anew if the copy that is there offers less (M3).
 */
export async function load(
  context: CommandContext,
  model: string,
  options: LoadCommandOptions,
): CommandResult {
  await using yard = await serverOnly(context, options, 'load')
  const begun = context.clock.now()
  const note = noteWaiting(context, yard, model)
  try {
    await yard.load(model, { signal: context.signal, force: options.force === true, ...wishOf(options) })
  } finally {
    await note.stop()
  }
  await report(
    context,
    yard,
    model,
    options,
    `is in memory after ${formatDuration(context.clock.now() - begun)}.`,
  )
}

function wishOf({ context, slots }: LoadCommandOptions): { wish?: LoadWish } {
  if (context === undefined && slots === undefined) return {}
  return { wish: { ...(context !== undefined && { context }), ...(slots !== undefined && { slots }) } }
}

/** `modelyard unload MODEL`: takes it, or one of its instances, out of the running server's memory; with `--force` its running answers are cut. */
export async function unload(context: CommandContext, model: string, options: ForceOptions): CommandResult {
  await using yard = await serverOnly(context, options, 'unload')
  await yard.unload(model, { force: options.force === true })
  await report(context, yard, model, options, 'is not in memory any more.')
}

/** A yard of our own ends with the command, and with it everything that was loaded: there is nothing to load for. */
async function serverOnly(
  context: CommandContext,
  options: YardOptionsOfCommand,
  command: string,
): Promise<YardClient> {
  const yard = await context.openYard(options)
  if (yard.server !== undefined) return yard
  await yard[Symbol.asyncDispose]()
  throw new ModelyardError(
    'invalid_request',
    `No server runs for this home, so there is nothing to ${command}. Start one: modelyard serve`,
  )
}

async function report(
  { out }: CommandContext,
  yard: YardClient,
  model: string,
  options: YardOptionsOfCommand,
  words: string,
): Promise<void> {
  if (options.json !== true) return await out.line(`${model} ${words}`)
  const known = (await yard.list()).find((listed) => isCalled(listed, model))
  await out.json({ model: known?.id ?? model, state: known?.state ?? null })
}
