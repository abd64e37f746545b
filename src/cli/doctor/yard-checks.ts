import { toModelyardError } from '../../base/errors.ts'
import { readOwner } from '../../host/home-lock.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { commandConfiguration } from '../command-configuration.ts'
import type { CommandContext } from '../command-context.ts'
import { openLocal, readJson } from '../http-json.ts'
import { reachable } from '../reachable-address.ts'
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
  if (url !== undefined) return { check: await examineRunning(`runs as process ${pid}, ${url}`, url), url }
  const found = `process ${pid} uses this home and is no server`
  return { check: { name, status: 'warning', found, remedy: 'Other commands wait until it has ended.' } }
}

/** A server that lives may still not be well: its own words for it count. */
async function examineRunning(found: string, url: string): Promise<Check> {
  const name = 'server'
  try {
    const health = (await readJson(await openLocal(`${reachable(url)}/healthz`))) as Record<string, unknown>
    const isWell = health['ready'] === true && health['store'] === 'ok'
    if (isWell) return { name, status: 'ok', found }
    const reason =
      typeof health['reason'] === 'string' ? health['reason'] : `its history is ${String(health['store'])}`
    const remedy =
      'Look at its home: a full or read-only disk, or wrong permissions, keep it from writing. It serves on.'
    return { name, status: 'warning', found: `${found}; ${reason}`, remedy }
  } catch (error) {
    const remedy = 'It lives and does not answer. End it and start it again: modelyard serve'
    return {
      name,
      status: 'problem',
      found: `${found}, does not answer: ${(error as Error).message}`,
      remedy,
    }
  }
}
