import type { ConfigurationChange } from '../../config/configuration-change.ts'
import { watchConfiguration } from '../../config/watch-configuration.ts'
import type { Yard } from '../../yard.ts'
import type { CommandConfiguration } from '../command-configuration.ts'
import type { CommandContext } from '../command-context.ts'

/** Takes over what the configuration file becomes while the server runs (BR-44). Without a file there is nothing to watch. @returns a function that ends it */
export async function watchFile(
  context: CommandContext,
  { configuration, reload }: CommandConfiguration,
  yard: Yard,
): Promise<() => Promise<void>> {
  const { file } = configuration
  if (file === undefined) return () => Promise.resolve()
  const watch = await watchConfiguration({
    clock: context.clock,
    file,
    current: configuration,
    load: reload,
    onChange: (change) => void takeOver(context, yard, change),
  })
  return () => watch.close()
}

async function takeOver(context: CommandContext, yard: Yard, change: ConfigurationChange): Promise<void> {
  const { err } = context
  if (change.type === 'rejected') {
    await err.line(`The configuration stays as it was; the file has a mistake:\n${change.message}`)
    return
  }
  try {
    await yard.reconfigure(change.configuration)
    await err.line(`The configuration was read again: ${describe(change)}.`)
  } catch (error) {
    await err.line(`The configuration could not be taken over: ${(error as Error).message}`)
  }
}

/** `added a, b; changed c; server (needs a restart)` */
function describe({ difference }: ConfigurationChange & { type: 'reloaded' }): string {
  const { added, removed, changed, settings } = difference
  const parts = [
    ...list('added', added),
    ...list('removed', removed),
    ...list('changed', changed),
    ...list('other settings:', settings),
  ]
  const restart = settings.some((name) => name === 'server' || name === 'directories')
  return parts.join('; ') + (restart ? ' (addresses, keys and directories count from the next start on)' : '')
}

function list(word: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${word} ${names.join(', ')}`]
}
