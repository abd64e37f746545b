import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { ContextListing } from '../../pool/context-listing.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { renderFields, renderTable } from '../render/table.ts'

export interface RemoveContextsOptions extends YardOptionsOfCommand {
  model?: string
  all?: boolean
}

/** `modelyard contexts list`: what is parked on disk. */
export async function listContexts(context: CommandContext, options: YardOptionsOfCommand): CommandResult {
  await using yard = await context.openYard(options)
  const contexts = await yard.contexts()
  if (options.json === true) await context.out.json(contexts)
  else await context.out.line(contexts.length === 0 ? 'No contexts are parked.' : renderContexts(contexts))
}

/** `modelyard contexts show ID` */
export async function showContext(
  context: CommandContext,
  id: string,
  options: YardOptionsOfCommand,
): CommandResult {
  await using yard = await context.openYard(options)
  const found = (await yard.contexts()).find((each) => each.id === id)
  if (found === undefined) throw unknownContext(id)
  if (options.json === true) return await context.out.json(found)
  await context.out.line(
    renderFields([
      ['id', found.id],
      ['model', found.model],
      ['state', found.state],
      ['tokens', String(found.tokens)],
      ['on disk', formatBytes(found.bytes)],
      ['spares', `${found.seconds.toFixed(1)} s of computing`],
      ['last of use', `${formatDuration(found.idleFor)} ago`],
    ]),
  )
}

/** `modelyard contexts remove [ID...] [--model MODEL] [--all]` */
export async function removeContexts(
  context: CommandContext,
  ids: string[],
  { model, all, ...options }: RemoveContextsOptions,
): CommandResult {
  if (ids.length === 0 && model === undefined && all !== true) {
    const message = 'Say which contexts are to go: their ids, --model MODEL, or --all.'
    throw new ModelyardError('invalid_request', message)
  }
  await using yard = await context.openYard(options)
  const removed = await yard.removeContexts({
    ...(ids.length > 0 && { ids }),
    ...(model !== undefined && { model }),
  })
  if (options.json === true) await context.out.json({ removed })
  else await context.out.line(removed === 1 ? '1 context is gone.' : `${removed} contexts are gone.`)
}

function unknownContext(id: string): ModelyardError {
  return new ModelyardError('not_found', `No context "${id}" is parked. See: modelyard contexts list`)
}

function renderContexts(contexts: readonly ContextListing[]): string {
  const columns = [
    { title: 'ID' },
    { title: 'MODEL' },
    { title: 'TOKENS', align: 'right' },
    { title: 'SIZE', align: 'right' },
    { title: 'SPARES', align: 'right' },
    { title: 'LAST USE', align: 'right' },
  ] as const
  const rows = contexts.map(({ id, model, tokens, bytes, seconds, idleFor }) => [
    id,
    model,
    String(tokens),
    formatBytes(bytes),
    `${seconds.toFixed(1)} s`,
    formatDuration(idleFor),
  ])
  return renderTable(columns, rows)
}
