import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from './base/clock.ts'
import { ModelyardError } from './base/errors.ts'
import { libraryDirectories } from './config.ts'
import type { YardDirectories } from './config/directories.ts'
import type { EventBus } from './events/event-bus.ts'
import { claimHome, homeInUse, readOwner, type HomeClaim } from './host/home-lock.ts'
import { VERSION } from './version.ts'

export interface OpenedHome {
  directories: YardDirectories
  claim: HomeClaim
  /** A home that ends with the yard (`home: false`). */
  temporary: string | undefined
}

export interface HomeOptions {
  /** As in `YardOptions`. */
  home: string | false | undefined
  directories: YardDirectories
  clock: Clock
  bus: EventBus
}

/** What a disk says that takes nothing. */
const UNWRITABLE = new Set(['EROFS', 'ENOSPC', 'EDQUOT', 'EACCES', 'EPERM'])

/** Makes this process the owner of its home. @throws ModelyardError `home_in_use`, `config_invalid` for a home that cannot be one */
export async function openHome({ home, directories, clock, bus }: HomeOptions): Promise<OpenedHome> {
  if (home !== false) {
    return { directories, claim: await claim(directories.home, clock, bus), temporary: undefined }
  }
  const temporary = await mkdtemp(join(tmpdir(), 'modelyard-'))
  const { models, engines, config } = directories
  return {
    directories: { ...libraryDirectories(temporary), models, engines, config },
    claim: await claim(temporary, clock, bus),
    temporary,
  }
}

/** BR-25: a full or read-only disk is no reason not to serve; it is said, and nobody else can tell then that this process is here. */
async function claim(directory: string, clock: Clock, bus: EventBus): Promise<HomeClaim> {
  try {
    return await claimHome(directory, { version: VERSION }, { clock })
  } catch (thrown) {
    const { code = '', message } = thrown as NodeJS.ErrnoException
    if (thrown instanceof ModelyardError) throw thrown
    if (!UNWRITABLE.has(code)) throw unusable(directory, thrown)
    const owner = await readOwner(directory)
    if (owner !== undefined) throw homeInUse(directory, owner)
    bus.emit('warning-raised', {
      code: 'disk_full',
      message: `Nothing can be written to the home ${directory} (${message}): this yard serves on, and keeps nothing.`,
    })
    return { update: () => undefined, release: () => undefined }
  }
}

function unusable(directory: string, cause: unknown): ModelyardError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new ModelyardError(
    'config_invalid',
    `${directory} cannot be a home: ${reason}. Choose another with MODELYARD_HOME.`,
    {
      details: { directory },
      cause,
    },
  )
}
