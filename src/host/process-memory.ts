import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { MeasuredMemory } from './memory.ts'
import { processTree } from './process-tree.ts'

const run = promisify(execFile)

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024
}

/** Fields of a `smaps_rollup` file in bytes; absent fields are 0. */
export function parseSmapsRollup(text: string): MeasuredMemory {
  // Kernels before 5.9 do not tell shared memory apart: it is taken for file pages.
  const own = field(text, 'Anonymous') + field(text, 'Pss_Shmem')
  return { private: own, shared: Math.max(0, field(text, 'Rss') - own) }
}

async function readRollup(pid: number): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/smaps_rollup`, 'latin1')
  } catch {
    return undefined
  }
}

async function readRollups(pid: number): Promise<string[]> {
  const texts = await Promise.all(processTree(pid).map(readRollup))
  return texts.filter((text) => text !== undefined)
}

export function addMemory(a: MeasuredMemory, b: MeasuredMemory): MeasuredMemory {
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
  const rollups = await readRollups(pid)
  return rollups.length === 0 ? undefined : rollups.map(parseSmapsRollup).reduce(addMemory)
}

/** Bytes of a process tree with what is shared divided among those who share it: sums of these count nothing twice. Undefined as above. */
export async function proportionalSize(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return (await measureProcessTree(pid))?.private
  const rollups = await readRollups(pid)
  return rollups.length === 0 ? undefined : rollups.reduce((sum, text) => sum + field(text, 'Pss'), 0)
}
