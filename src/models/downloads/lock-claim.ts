import { randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { identityOf, isAlive, type ProcessIdentity } from '../../host/process-identity.ts'

/** Who holds a lock: a process that cannot be mistaken for a later one, and a number that no other claim has. */
export interface LockClaim extends ProcessIdentity {
  nonce: string
  /** Machine, boot and pid namespace: a pid means something within these only. */
  place: string
}

/** A new claim of this process. */
export function ownClaim(): LockClaim {
  return { ...identityOf(process.pid), nonce: randomBytes(8).toString('hex'), place: placeOfPids() }
}

/** The claim in a lock file; undefined when the file is gone or holds none (no lock of ours is ever half written). */
export async function readClaim(path: string): Promise<LockClaim | undefined> {
  try {
    const claim = JSON.parse(await readFile(path, 'utf8')) as Partial<LockClaim> | null
    const isClaim = typeof claim?.pid === 'number' && typeof claim.nonce === 'string'
    return isClaim ? (claim as LockClaim) : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether the holder is proven to be gone: its process ended, or the machine was started anew. A holder on another machine or in
 * another container is never proven gone, however long it takes (S3).
 */
export function isProvenGone(claim: LockClaim): boolean {
  const here = placeOfPids()
  if (claim.place === here) return !isAlive(claim)
  const [machine, boot] = claim.place.split(' ')
  const [thisMachine, thisBoot] = here.split(' ')
  return machine === thisMachine && boot !== thisBoot && boot !== '-'
}

function placeOfPids(): string {
  return [hostname().replaceAll(' ', '_'), bootId(), pidNamespace()].join(' ')
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return '-'
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return '-'
  }
}
