import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ModelyardError } from '../base/errors.ts'
import { createId } from '../base/ids.ts'
import type { Clock } from '../base/clock.ts'
import { keptAlive } from './keep-alive.ts'
import { listenAsOwner, ownerListens } from './owner-socket.ts'
import { ProcessLock, type LockRecord, type ProcessLockOptions } from './process-lock.ts'

/** What the owner of a home tells others. */
export interface OwnerFacts {
  /** Where it can be reached, for example `http://127.0.0.1:11500`; absent for a library without a server. */
  url?: string
  version?: string
}

export interface HomeOwner extends OwnerFacts {
  pid: number
}

/** The right to use a home directory alone, until released or until this process ends. */
export interface HomeClaim {
  /** Changes what others are told; fields left out stay. */
  update(facts: OwnerFacts): void
  /** Calling it twice is harmless. */
  release(): void
}

/** What stands in the record; `socket` is the file name of {@link listenAsOwner}. */
interface OwnerRecord extends OwnerFacts {
  socket: string
}

const SOCKET_NAME = /^owner\.[0-9a-f]+\.sock$/

function recordPath(directory: string): string {
  return join(directory, 'owner.json')
}

/** An owner in another container has no pid that could be looked up from here; its socket tells. */
function lockOptions(directory: string): ProcessLockOptions {
  return {
    livesElsewhere: async (holder) => {
      const { socket } = holder as LockRecord & Partial<OwnerRecord>
      return socket !== undefined && SOCKET_NAME.test(socket) && ownerListens(join(directory, socket))
    },
  }
}

/**
 * Makes this process the one owner of a home directory (M16, C0); it is created when missing. A record of a dead process is taken
 * over by proof; of two that start at once one gets it. @throws ModelyardError `home_in_use` with details pid and url
 */
export async function claimHome(
  directory: string,
  facts: OwnerFacts = {},
  options: { clock?: Clock } = {},
): Promise<HomeClaim> {
  mkdirSync(directory, { recursive: true })
  const socket = `owner.${createId('').slice(0, 8)}.sock`
  const closeSocket = await listenAsOwner(join(directory, socket))
  const record = { ...facts, socket }
  const taken = await keptAlive(
    ProcessLock.tryTake<OwnerRecord>(recordPath(directory), record, {
      ...options,
      ...lockOptions(directory),
    }),
  )
  if ('holder' in taken) {
    closeSocket()
    throw homeInUse(directory, taken.holder)
  }
  removeOtherSockets(directory, socket)
  return new OwnedHome(taken.lock, record, closeSocket)
}

function removeOtherSockets(directory: string, ours: string): void {
  for (const name of readdirSync(directory)) {
    if (SOCKET_NAME.test(name) && name !== ours) rmSync(join(directory, name), { force: true })
  }
}

/** Who owns a home now; undefined when nobody living does. */
export async function readOwner(directory: string): Promise<HomeOwner | undefined> {
  const holder = await ProcessLock.holderOf<OwnerRecord>(recordPath(directory), lockOptions(directory))
  if (holder === undefined) return undefined
  const { pid, url, version } = holder
  return { pid, ...(url === undefined ? {} : { url }), ...(version === undefined ? {} : { version }) }
}

class OwnedHome implements HomeClaim {
  readonly #lock: ProcessLock<OwnerRecord>
  readonly #closeSocket: () => void
  #facts: OwnerRecord

  constructor(lock: ProcessLock<OwnerRecord>, facts: OwnerRecord, closeSocket: () => void) {
    this.#lock = lock
    this.#facts = facts
    this.#closeSocket = closeSocket
  }

  update(facts: OwnerFacts): void {
    this.#facts = { ...this.#facts, ...facts }
    this.#lock.update(this.#facts)
  }

  release(): void {
    this.#closeSocket()
    this.#lock.release()
  }
}

/** The error for whoever comes second. */
export function homeInUse(directory: string, { pid, url }: HomeOwner): ModelyardError {
  const where = url === undefined ? `process ${pid}` : `process ${pid}, ${url}`
  const message = `The home ${directory} is in use by another Modelyard (${where}). Use that one, stop it, or choose another home (MODELYARD_HOME=DIR, or the option home of createYard).`
  return new ModelyardError('home_in_use', message, { details: { directory, pid, url: url ?? null } })
}
