import { formatDuration } from '../../base/durations.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import type { ModelListing } from '../../dialects/yard-port.ts'
import { grantedWords } from '../render/granted-words.ts'
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
  const took = context.clock.now() - begun
  const known = await knownAs(yard, model)
  const granted = await grantedTo(yard, known?.id ?? model)
  if (options.json === true) return await context.out.json({ ...stateOf(known, model), ...shapeOf(granted) })
  const words = grantedWords(granted, wishOf(options).wish ?? {})
  await context.out.line(`${model} is in memory after ${formatDuration(took)}${words}.`)
}

function wishOf({ context, slots }: LoadCommandOptions): { wish?: LoadWish } {
  if (context === undefined && slots === undefined) return {}
  return { wish: { ...(context !== undefined && { context }), ...(slots !== undefined && { slots }) } }
}

/** What the largest copy that stays offers; undefined where it has gone already. */
async function grantedTo(yard: YardClient, id: string): Promise<Required<LoadWish> | undefined> {
  const { instances } = await yard.state()
  const [largest] = instances
    .filter(({ model, state }) => model === id && state === 'ready')
    .toSorted((a, b) => b.contextSize - a.contextSize)
  return largest && { context: largest.contextSize, slots: largest.slots.length }
}

/** Named as in a plan. */
function shapeOf(granted: Required<LoadWish> | undefined): object {
  return { contextSize: granted?.context ?? null, slots: granted?.slots ?? null }
}

/** `modelyard unload MODEL`: takes it, or one of its instances, out of the running server's memory; with `--force` its running answers are cut. */
export async function unload(context: CommandContext, model: string, options: ForceOptions): CommandResult {
  await using yard = await serverOnly(context, options, 'unload')
  await yard.unload(model, { force: options.force === true })
  if (options.json === true) return await context.out.json(stateOf(await knownAs(yard, model), model))
  await context.out.line(`${model} is not in memory any more.`)
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

async function knownAs(yard: YardClient, model: string): Promise<ModelListing | undefined> {
  return (await yard.list()).find((listed) => isCalled(listed, model))
}

function stateOf(known: ModelListing | undefined, model: string): object {
  return { model: known?.id ?? model, state: known?.state ?? null }
}
