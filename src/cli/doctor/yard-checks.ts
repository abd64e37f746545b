import { toModelyardError } from '../../base/errors.ts'
import { readOwner } from '../../host/home-lock.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { commandConfiguration } from '../command-configuration.ts'
import type { CommandContext } from '../command-context.ts'
import type { Check } from './check.ts'

/** @returns with the check, the port that would be served on, and the configuration where it is sound */
export async function examineConfiguration(
  context: CommandContext,
  file: string | undefined,
): Promise<{ check: Check; port: number; configuration?: YardConfiguration }> {
  const name = 'configuration'
  try {
    const { configuration } = await commandConfiguration(context, file === undefined ? {} : { config: file })
    const { models, server } = configuration
    const found = `${configuration.file ?? 'no file, which is fine'}; ${models.length} model${models.length === 1 ? '' : 's'}`
    return { check: { name, status: 'ok', found }, port: server.port, configuration }
  } catch (error) {
    const found = toModelyardError(error).message
    const remedy = 'Correct it there; the server keeps the last good configuration until then.'
    return { check: { name, status: 'problem', found, remedy }, port: 11_435 }
  }
}

/** Who owns the home now. */
export async function examineServer({
  directories,
}: CommandContext): Promise<{ check: Check; url?: string }> {
  const name = 'server'
  const owner = await readOwner(directories.home)
  if (owner === undefined) return { check: { name, status: 'ok', found: 'none runs for this home' } }
  const { pid, url } = owner
  if (url !== undefined)
    return { check: { name, status: 'ok', found: `runs as process ${pid}, ${url}` }, url }
  const found = `process ${pid} uses this home and is no server`
  return { check: { name, status: 'warning', found, remedy: 'Other commands wait until it has ended.' } }
}
