import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { MeasuredMemory } from './memory.ts'
import { processTree } from './process-tree.ts'

const run = promisify(execFile)

/** Fields of a `smaps_rollup` file in bytes; absent fields are 0. */
export function parseSmapsRollup(text: string): MeasuredMemory {
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024
  const anonymous = field('Anonymous')
  const sharedMemory = field('Pss_Shmem')
  // Kernels before 5.9 do not divide Pss by kind: what is not anonymous is taken for file pages.
  const ofFiles = /^Pss_File:/m.test(text) ? field('Pss_File') : Math.max(0, field('Pss') - anonymous)
  return { private: anonymous + sharedMemory, shared: ofFiles }
}

async function measureProcess(pid: number): Promise<MeasuredMemory | undefined> {
  try {
    return parseSmapsRollup(await readFile(`/proc/${pid}/smaps_rollup`, 'latin1'))
  } catch {
    return undefined
  }
}

function add(a: MeasuredMemory, b: MeasuredMemory): MeasuredMemory {
  return { private: a.private + b.private, shared: a.shared + b.shared }
}

/** macOS tells the resident size only: all of it counts as private, which errs on the careful side. */
async function residentSize(pid: number): Promise<MeasuredMemory | undefined> {
  try {
    const { stdout } = await run('/bin/ps', ['-o', 'rss=', '-p', String(pid)])
    return { private: Number(stdout.trim()) * 1024, shared: 0 }
  } catch {
    return undefined
  }
}

/**
 * What a process and all its descendants hold now (M12), never a difference of the whole system (F21). Undefined when the process
 * is gone, and on Windows. Linux: `/proc/PID/smaps_rollup`, some milliseconds for a large process, off the main thread.
 */
export async function measureProcessTree(pid: number): Promise<MeasuredMemory | undefined> {
  if (process.platform === 'darwin') return residentSize(pid)
  if (process.platform !== 'linux') return undefined
  const measured = await Promise.all(processTree(pid).map(measureProcess))
  const alive = measured.filter((memory) => memory !== undefined)
  return alive.length === 0 ? undefined : alive.reduce(add)
}
