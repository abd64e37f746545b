import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, sleep } from '../../base/clock.ts'
import { createId } from '../../base/ids.ts'
import { listenAsOwner, ownerListens } from '../../host/owner-socket.ts'
import { type LockRecord, ProcessLock } from '../../host/process-lock.ts'

export interface LockOptions {
  clock: Clock
  signal: AbortSignal
  /** Folder for the socket by which processes in other containers see that we live: short, and shared by all who share the file. */
  socketFolder: string
  /** Called about twice a second while another process holds the lock. */
  onWait?: (holder: { pid: number }) => void | Promise<void>
}

/** The right to write one file. */
export interface FileLock {
  release(): void
}

interface Extra {
  /** File name of the socket; null where there can be none. */
  socket: string | null
}

const POLL = 500
const SOCKET_NAME = /^\.fetching\.[0-9a-f]+\.sock$/

/**
 * Takes the lock file at `path`, waiting while another process holds it. A lock whose holder is proven gone is taken over; never one
 * that is merely old (S3). An aborted wait leaves nothing behind (F28).
 * @throws the signal's reason
 */
export async function lockFile(
  path: string,
  { clock, signal, socketFolder, onWait }: LockOptions,
): Promise<FileLock> {
  signal.throwIfAborted()
  const { socket, close } = await openSocket(socketFolder)
  const livesElsewhere = async (holder: LockRecord): Promise<boolean> => isListening(socketFolder, holder)
  try {
    for (;;) {
      const taken = await ProcessLock.tryTake<Extra>(path, { socket }, { clock, livesElsewhere })
      if ('lock' in taken) return ownedLock(taken.lock, close)
      await onWait?.(taken.holder)
      await sleep(clock, POLL, signal)
    }
  } catch (error) {
    close()
    throw error
  }
}

function ownedLock(lock: ProcessLock<Extra>, close: () => void): FileLock {
  return {
    release() {
      close()
      lock.release()
    },
  }
}

async function openSocket(folder: string): Promise<{ socket: string | null; close: () => void }> {
  await removeDeadSockets(folder)
  const name = `.fetching.${createId('').slice(0, 8)}.sock`
  const close = await listenAsOwner(join(folder, name))
  return { socket: existsSync(join(folder, name)) ? name : null, close }
}

/** A holder in another container whose pid cannot be looked up: its socket tells. Without one it is taken to be alive. */
async function isListening(folder: string, holder: LockRecord): Promise<boolean> {
  const { socket } = holder as LockRecord & Partial<Extra>
  if (typeof socket !== 'string' || !SOCKET_NAME.test(socket)) return true
  return ownerListens(join(folder, socket))
}

/** Sockets of processes that crashed: nobody listens on them. */
async function removeDeadSockets(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((candidate) => SOCKET_NAME.test(candidate))) {
    if (!(await ownerListens(join(folder, name)))) await rm(join(folder, name), { force: true })
  }
}
