import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A process that cannot be mistaken for a later one with the same pid. */
export interface ProcessIdentity {
  pid: number
  /** Opaque, compared for equality: Linux clock ticks since boot (field 22 of `/proc/PID/stat`), macOS `ps -o lstart`. Null = unreadable here. */
  startTime: string | null
}

export interface ProcessStat {
  parent: number
  group: number
  /** One letter; `Z` is a zombie, which holds nothing any more. */
  state: string
  startTime: string
}

/** What Linux says of a process; undefined when it does not exist, or on another system. */
export function readProcessStat(pid: number): ProcessStat | undefined {
  let line: string
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // The name in brackets may hold spaces and brackets itself: fields are counted after the last one.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [state, parent, group] = fields
  const startTime = fields[19]
  if (state === undefined || startTime === undefined) return undefined
  return { state, parent: Number(parent), group: Number(group), startTime }
}

function startTimeFromPs(pid: number): string | null {
  const { stdout } = spawnSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout?.trim() || null
}

/** Identity of a running process; `startTime` is null where the system does not tell (Windows) or the process is gone. */
export function identityOf(pid: number): ProcessIdentity {
  if (process.platform === 'linux') return { pid, startTime: readProcessStat(pid)?.startTime ?? null }
  return { pid, startTime: process.platform === 'darwin' ? startTimeFromPs(pid) : null }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Whether exactly this process still runs. A zombie does not. Where start times cannot be read, an existing pid counts as the same
 * process: for a lock that is the careful answer. Never a proof to kill by: see {@link isProvenAlive}.
 */
export function isAlive(identity: ProcessIdentity): boolean {
  if (!Number.isInteger(identity.pid) || identity.pid <= 0 || !exists(identity.pid)) return false
  if (process.platform === 'linux') {
    const stat = readProcessStat(identity.pid)
    return (
      stat !== undefined && stat.state !== 'Z' && (identity.startTime ?? stat.startTime) === stat.startTime
    )
  }
  const { startTime } = identityOf(identity.pid)
  return startTime === null || identity.startTime === null || startTime === identity.startTime
}

/** Like {@link isAlive}, but only where the start time was read then and now and agrees (M16). */
export function isProvenAlive(identity: ProcessIdentity): boolean {
  if (identity.startTime === null || !isAlive(identity)) return false
  return identityOf(identity.pid).startTime === identity.startTime
}
