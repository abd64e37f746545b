import { randomBytes } from 'node:crypto'
import { link, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { type Clock, sleep } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { isProvenGone, type LockClaim, ownClaim, readClaim } from './lock-claim.ts'

export interface LockOptions {
  clock: Clock
  signal: AbortSignal
  /** Called about twice a second while another process holds the lock. */
  onWait?: (holder: LockClaim) => void | Promise<void>
}

/** The right to write one file. */
export interface FileLock {
  release(): Promise<void>
}

const POLL = 500
/** Looks at a lock file that holds no claim (a foreign or damaged file) before giving up. */
const MOST_UNREADABLE = 6

/**
 * Takes the lock file at `path`, waiting while another process holds it. A lock whose holder is proven gone is taken over; never one
 * that is merely old (S3). An aborted wait leaves nothing behind (F28).
 * @throws the signal's reason
 */
export async function lockFile(path: string, { clock, signal, onWait }: LockOptions): Promise<FileLock> {
  signal.throwIfAborted()
  const claim = ownClaim()
  for (let unreadable = 0; !(await tryLock(path, claim));) {
    const holder = await readClaim(path)
    if (holder === undefined) {
      unreadable += (await exists(path)) ? 1 : 0
      if (unreadable > MOST_UNREADABLE) throw unreadableLock(path)
    } else if (isProvenGone(holder)) {
      if (await takeOver(path, holder, claim)) continue
    } else await onWait?.(holder)
    await sleep(clock, POLL, signal)
  }
  return { release: async () => rm(path, { force: true }) }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

function unreadableLock(path: string): ModelyardError {
  return new ModelyardError(
    'download_failed',
    `The lock ${path} does not say who holds it. Remove the file if no other Modelyard is fetching this model.`,
    { details: { path, retryable: false } },
  )
}

/** True when the lock is ours: it was free, or `takeOver` has just put our claim there. */
async function tryLock(path: string, claim: LockClaim): Promise<boolean> {
  if ((await readClaim(path))?.nonce === claim.nonce) return true
  return placeExclusively(path, claim)
}

/** Puts a claim at `path` unless something is there: linked from a draft, so that nobody ever reads half a claim. */
async function placeExclusively(path: string, claim: LockClaim): Promise<boolean> {
  const draft = await writeDraft(path, claim)
  try {
    await link(draft, path)
    return true
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EEXIST') return false
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error
    return await createExclusively(path, claim)
  } finally {
    await rm(draft, { force: true })
  }
}

/** For file systems without hard links (exFAT, some network shares). */
async function createExclusively(path: string, claim: LockClaim): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(claim), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function writeDraft(path: string, claim: LockClaim): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(draft, 'wx')
  try {
    await file.writeFile(JSON.stringify(claim))
    // A claim that a power cut emptied could never be proven to be anybody's.
    await file.sync()
  } finally {
    await file.close()
  }
  return draft
}

/**
 * Replaces the claim of a dead holder by ours. Only who has made the marker named after that claim may do so, and the lock file never
 * disappears meanwhile; so of many that see the same dead holder one gets the lock. A marker whose maker died is taken over likewise.
 * @returns whether it is worth looking again at once
 */
async function takeOver(path: string, dead: LockClaim, claim: LockClaim): Promise<boolean> {
  const marker = `${path}.${dead.nonce}`
  if (!(await tryLock(marker, claim))) {
    const maker = await readClaim(marker)
    if (maker === undefined) return true
    return isProvenGone(maker) && (await takeOver(marker, maker, claim))
  }
  try {
    // Somebody may have taken over and finished since we read the claim.
    if ((await readClaim(path))?.nonce === dead.nonce) await rename(await writeDraft(path, claim), path)
  } finally {
    await rm(marker, { force: true })
  }
  return true
}
