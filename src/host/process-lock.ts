import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync, rmSync } from 'node:fs'
import { sleep, SystemClock, type Clock } from '../base/clock.ts'
import { createId } from '../base/ids.ts'
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts'
import { createWhole, readIfThere, replaceWhole } from './whole-file.ts'

/** What stands in a lock file: who holds it, provably. */
export interface LockRecord extends ProcessIdentity {
  /** Names this one claim, so that two claims of one process differ. */
  nonce: string
  /** Changes with each start of the machine; null outside Linux. */
  boot: string | null
  /** Containers have their own: a pid of another one cannot be looked up from here. Null outside Linux. */
  pidNamespace: string | null
}

export interface ProcessLockOptions {
  /** Default: the system's clock. */
  clock?: Clock
  /** Whether a holder in another container still lives. Default: yes, since it cannot be seen. */
  livesElsewhere?: (holder: LockRecord) => Promise<boolean>
}

const PATIENCE = 20
const TRIES = 100

/**
 * A file that belongs to one living process. A dead holder's lock is taken over by proof (pid, start time, boot), never by age, and
 * of several that try at once exactly one succeeds.
 */
export class ProcessLock<Extra extends object = object> {
  readonly path: string
  readonly #record: LockRecord

  private constructor(path: string, record: LockRecord) {
    this.path = path
    this.#record = record
  }

  /** The lock, or who holds it. `extra` stands in the file beside the holder. */
  static async tryTake<Extra extends object>(
    path: string,
    extra: Extra,
    options: ProcessLockOptions = {},
  ): Promise<{ lock: ProcessLock<Extra> } | { holder: LockRecord & Partial<Extra> }> {
    const record = ownRecord()
    const text = JSON.stringify({ ...extra, ...record })
    for (let attempt = 1; ; attempt++) {
      if (createWhole(path, text)) return { lock: new ProcessLock<Extra>(path, record) }
      const found = readIfThere(path)
      const holder = parseRecord<Extra>(found)
      if (holder !== undefined && (await lives(holder, options))) return { holder }
      // Empty: being written by somebody on a file system without hard links, unless it stays so.
      const settled = found !== undefined && (found !== '' || attempt > TRIES / 2)
      if (settled && (await takeOver(path, found, text, options))) {
        return { lock: new ProcessLock<Extra>(path, record) }
      }
      // Somebody else is just taking it over, or gave it back: what comes of it is seen in a moment.
      if (attempt === TRIES) throw new Error(`The lock ${path} changes all the time.`)
      await sleep(options.clock ?? new SystemClock(), PATIENCE)
    }
  }

  /** Who holds the lock now; undefined when nobody living does. */
  static async holderOf<Extra extends object>(
    path: string,
    options: ProcessLockOptions = {},
  ): Promise<(LockRecord & Partial<Extra>) | undefined> {
    const holder = parseRecord<Extra>(readIfThere(path))
    return holder !== undefined && (await lives(holder, options)) ? holder : undefined
  }

  /** Replaces what stands beside the holder. */
  update(extra: Extra): void {
    if (this.#isOurs()) replaceWhole(this.path, JSON.stringify({ ...extra, ...this.#record }))
  }

  /** Removes the file if it is still ours; calling it twice is harmless. */
  release(): void {
    if (this.#isOurs()) rmSync(this.path, { force: true })
  }

  #isOurs(): boolean {
    return parseRecord(readIfThere(this.path))?.nonce === this.#record.nonce
  }
}

/**
 * Replaces a dead holder's file. The right to replace this one text is itself a lock, named after it: so a late comer can never
 * replace the file of the one that was faster.
 */
async function takeOver(
  path: string,
  stale: string,
  text: string,
  options: ProcessLockOptions,
): Promise<boolean> {
  const name = createHash('sha256').update(stale).digest('hex').slice(0, 16)
  const right = await ProcessLock.tryTake(`${path}.${name}.takeover`, {}, options)
  if ('holder' in right) return false
  try {
    if (readIfThere(path) !== stale) return false
    replaceWhole(path, text)
    return true
  } finally {
    right.lock.release()
  }
}

async function lives(holder: LockRecord, { livesElsewhere }: ProcessLockOptions): Promise<boolean> {
  const here = machineFacts()
  if (holder.boot !== null && here.boot !== null && holder.boot !== here.boot) return false
  const sameNamespace = holder.pidNamespace === here.pidNamespace
  return sameNamespace ? isAlive(holder) : ((await livesElsewhere?.(holder)) ?? true)
}

function machineFacts(): Pick<LockRecord, 'boot' | 'pidNamespace'> {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return { boot, pidNamespace: readlinkSync('/proc/self/ns/pid') }
  } catch {
    return { boot: null, pidNamespace: null }
  }
}

function ownRecord(): LockRecord {
  return { ...identityOf(process.pid), nonce: createId(''), ...machineFacts() }
}

function parseRecord<Extra extends object>(
  text: string | undefined,
): (LockRecord & Partial<Extra>) | undefined {
  try {
    const record = JSON.parse(text ?? '') as LockRecord & Partial<Extra>
    return Number.isInteger(record.pid) && typeof record.nonce === 'string' ? record : undefined
  } catch {
    return undefined
  }
}
