import { ModelyardError } from '../../base/errors.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { createYard, type Listening, type Yard } from '../../yard.ts'
import { commandConfiguration, type CommandConfiguration } from '../command-configuration.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { requireEnginesOf } from '../engines/require-engine.ts'
import { EXIT } from '../exit-codes.ts'
import { requireLocalFiles } from '../require-local-files.ts'
import { announceAddress, announceModels, warnWhenOpen } from '../serving/announce.ts'
import { fetchNamedModels } from '../serving/fetch-named-models.ts'
import { showEvents } from '../serving/show-events.ts'
import { showRequests } from '../serving/show-requests.ts'
import { keepHeapSmall } from '../serving/small-heap.ts'
import { watchModels } from '../serving/watch-models.ts'
import { watchFile } from '../serving/watch-file.ts'

export interface ServeOptions extends YardOptionsOfCommand {
  port?: number
  host?: string
  defaultModel: string
  recordTrace?: string
}

/** `modelyard serve [MODEL…]`: serves until SIGINT or SIGTERM, which end it cleanly in whatever it is doing. */
export async function serve(context: CommandContext, models: string[], options: ServeOptions): CommandResult {
  try {
    await serveUntilInterrupted(context, models, options)
  } catch (error) {
    if (!context.signal.aborted) throw error
  }
  return EXIT.ok
}

async function serveUntilInterrupted(
  context: CommandContext,
  models: string[],
  options: ServeOptions,
): Promise<void> {
  keepHeapSmall()
  const command = await configure(context, models, options)
  const { configuration, idOf } = command
  const named = [...idOf.values()]
  const configured = configuration.models.map(({ id }) => ({ id, named: named.includes(id) }))
  await requireLocalFiles(configuration, named)
  await requireEnginesOf(context, configuration, configured, options)
  await fetchNamedModels(context, configuration, named)
  await warnWhenOpen(context, configuration)
  await using yard = await createYard({
    configuration,
    ...(options.recordTrace !== undefined && { recordTrace: options.recordTrace }),
  })
  for (const id of named) await yard.findModel(id)
  await requireEnginesOf(context, configuration, await yard.listModels(), options)
  const stopShowing = showEvents(context, yard, options.verbose ?? false)
  const stopLogging = showRequests(context, yard)
  const { url } = await listen(yard, configuration)
  await announceAddress(context, yard, url, options.json ?? false)
  if (options.json !== true) await announceModels(context, yard, url, named)
  const stopWatching = await watchFile(context, command, yard)
  const stopLooking = await watchModels(context, yard)
  await untilInterrupted(context)
  await context.err.line('Stopping …')
  stopShowing()
  stopLogging()
  await stopWatching()
  await stopLooking()
}

async function configure(
  context: CommandContext,
  models: string[],
  { config, host, port, defaultModel }: ServeOptions,
): Promise<CommandConfiguration> {
  return await commandConfiguration(context, {
    ...(config !== undefined && { config }),
    models,
    defaultModel,
    server: { ...(host !== undefined && { host }), ...(port !== undefined && { port }) },
  })
}

async function listen(yard: Yard, { server }: YardConfiguration): Promise<Listening> {
  try {
    return await yard.listen()
  } catch (error) {
    throw cannotListen(server, error as NodeJS.ErrnoException)
  }
}

const REMEDIES: Record<string, string> = {
  EADDRINUSE: 'Another program uses that port. Stop it, or serve on another one: modelyard serve --port N',
  EACCES: 'You may not use that port. Take one above 1023: modelyard serve --port N',
  EADDRNOTAVAIL: 'This machine has no such address. See --host.',
}

function cannotListen(
  { host, port }: YardConfiguration['server'],
  error: NodeJS.ErrnoException,
): ModelyardError {
  const remedy = REMEDIES[error.code ?? ''] ?? error.message
  return new ModelyardError('invalid_request', `Cannot listen on ${host}:${port}. ${remedy}`, {
    cause: error,
  })
}

function untilInterrupted({ signal }: CommandContext): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
