import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { NONCE_VARIABLE } from './child-process.ts'
import { keptAlive } from './keep-alive.ts'
import {
  identityOf,
  isAlive,
  isProvenAlive,
  readProcessStat,
  type ProcessIdentity,
} from './process-identity.ts'
import { groupMembers, signalGroup, signalProcess, waitForGroupEnd } from './process-tree.ts'
import { replaceWhole } from './whole-file.ts'

/** What is written down about a running worker, so that the next start can find it when we crash (R15, M16). */
export interface WorkerRecord extends ProcessIdentity {
  /** In the worker's environment too: proves that a process is the one recorded. */
  nonce: string
  model: string
  /** Milliseconds since 1970, for people. */
  startedAt: number
  /** The server that started it. While that one lives, the worker is none of our business. */
  owner: ProcessIdentity
}

/** What became of the records found at start. */
export interface LeftoverReport {
  /** Proven leftovers that were ended. */
  ended: WorkerRecord[]
  /** Records of workers whose server still lives. */
  kept: WorkerRecord[]
  /** Number of records removed because their process is gone, is another one, or because they could not be read. */
  discarded: number
}

export type NewWorkerRecord = Omit<WorkerRecord, 'owner'>

/** Writes a record. @returns a function that removes it; calling it twice is harmless */
export function recordWorker(directory: string, worker: NewWorkerRecord): () => void {
  const record: WorkerRecord = { ...worker, owner: identityOf(process.pid) }
  const path = join(directory, `${worker.pid}-${worker.nonce.slice(0, 8)}.json`)
  mkdirSync(directory, { recursive: true })
  replaceWhole(path, JSON.stringify(record))
  return () => rmSync(path, { force: true })
}

function isIdentity(value: unknown): value is ProcessIdentity {
  const { pid, startTime } = (value ?? {}) as Partial<ProcessIdentity>
  return Number.isInteger(pid) && Number(pid) > 1 && (startTime === null || typeof startTime === 'string')
}

function readRecord(path: string): WorkerRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as WorkerRecord
    const sound = isIdentity(record) && isIdentity(record.owner) && /^[0-9a-f]{16,}$/.test(record.nonce)
    return sound ? record : undefined
  } catch {
    return undefined
  }
}

function environmentOf(pid: number): string[] {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
    if (process.platform !== 'darwin') return []
    return (
      spawnSync('/bin/ps', ['-Eww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
    ).split(' ')
  } catch {
    return []
  }
}

function hasNonce(pid: number, nonce: string): boolean {
  return environmentOf(pid).includes(`${NONCE_VARIABLE}=${nonce}`)
}

/** Pid, start time and nonce agree: only then is it the process we started (F26). What cannot be read is no proof. */
function isProven(record: WorkerRecord): boolean {
  return isProvenAlive(record) && hasNonce(record.pid, record.nonce)
}

/**
 * What a dead worker had started: processes of its group (whose number nobody else can get while they live), not older than it, and
 * with its nonce in their environment.
 */
function provenOrphans(record: WorkerRecord): number[] {
  if (process.platform !== 'linux' || record.startTime === null || isAlive(identityOf(record.pid))) return []
  return groupMembers(record.pid).filter((pid) => {
    const started = Number(readProcessStat(pid)?.startTime ?? -1)
    return started >= Number(record.startTime) && hasNonce(pid, record.nonce)
  })
}

async function endProven(record: WorkerRecord, grace: number, clock: Clock): Promise<void> {
  signalGroup(record.pid, 'SIGTERM')
  if (await waitForGroupEnd(record.pid, grace, clock)) return
  // Its members hold the group's number: no stranger can have it.
  signalGroup(record.pid, 'SIGKILL')
  await waitForGroupEnd(record.pid, grace, clock)
}

/**
 * Ends what a crashed server left behind: workers whose pid, start time and nonce all agree with their record and whose server is
 * dead. Nothing else is ever signalled. Call it at start, before anything is loaded; `grace` is the milliseconds between SIGTERM
 * and SIGKILL (default 2000).
 */
export function endLeftovers(
  directory: string,
  options: { clock: Clock; grace?: number },
): Promise<LeftoverReport> {
  return keptAlive(endEach(directory, options.grace ?? 2000, options.clock))
}

async function endEach(directory: string, grace: number, clock: Clock): Promise<LeftoverReport> {
  const report: LeftoverReport = { ended: [], kept: [], discarded: 0 }
  for (const path of recordFiles(directory)) {
    const record = readRecord(path)
    if (record !== undefined && isAlive(record.owner) && isProven(record)) {
      report.kept.push(record)
      continue
    }
    if (record !== undefined && (await endLeftover(record, grace, clock))) {
      report.ended.push(record)
    } else report.discarded++
    rmSync(path, { force: true })
  }
  return report
}

/** @returns whether there was anything to end */
async function endLeftover(record: WorkerRecord, grace: number, clock: Clock): Promise<boolean> {
  if (isAlive(record.owner)) return false
  if (isProven(record)) {
    await endProven(record, grace, clock)
    return true
  }
  const orphans = provenOrphans(record)
  for (const pid of orphans) signalProcess(pid, 'SIGKILL')
  if (orphans.length > 0) await waitForGroupEnd(record.pid, grace, clock)
  return orphans.length > 0
}

function recordFiles(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /\.json(\.\w+\.part)?$/.test(name))
      .map((name) => join(directory, name))
  } catch {
    return []
  }
}
