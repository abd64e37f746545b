import type { CommandReader } from './device-memory.ts'
import type { DomainReading } from './memory.ts'

const MIB = 1024 ** 2

/**
 * Bytes that can be had without writing anything to disk or compressing it: free pages, those read ahead, those programs have marked as
 * purgeable, and the inactive ones of files. Undefined when the text is not `vm_stat`'s.
 */
export function parseVmStat(text: string): number | undefined {
  const pageSize = Number(/page size of (\d+) bytes/.exec(text)?.[1])
  const pages = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)\\.`, 'm').exec(text)?.[1])
  const files = pages('File-backed pages')
  const inactive = Math.min(pages('Pages inactive'), Number.isNaN(files) ? 0 : files)
  const sum = pages('Pages free') + pages('Pages speculative') + (pages('Pages purgeable') || 0) + inactive
  return Number.isFinite(sum * pageSize) ? sum * pageSize : undefined
}

async function numberOf(read: CommandReader, name: string): Promise<number | undefined> {
  const answer = await read('/usr/sbin/sysctl', ['-n', name])
  const text = answer?.code === 0 ? answer.output.trim() : ''
  return /^\d+$/.test(text) ? Number(text) : undefined
}

/**
 * The memory of a Mac: one domain, because GPU and programs share it. A limit that was set for what the GPU may hold
 * (`iogpu.wired_limit_mb`; 0 is the system's own, some 75 % of memory) bounds the total. Undefined when it cannot be read.
 */
export async function readAppleMemory(read: CommandReader): Promise<DomainReading | undefined> {
  const total = await numberOf(read, 'hw.memsize')
  const answer = await read('/usr/bin/vm_stat', [])
  const available = answer?.code === 0 ? parseVmStat(answer.output) : undefined
  if (total === undefined || available === undefined) return undefined
  const wired = ((await numberOf(read, 'iogpu.wired_limit_mb')) ?? 0) * MIB
  if (wired === 0 || wired >= total)
    return { total, available: Math.min(total, available), source: 'vm_stat' }
  return {
    total: wired,
    available: Math.min(wired, available),
    source: 'vm_stat; limit of iogpu.wired_limit_mb',
  }
}
