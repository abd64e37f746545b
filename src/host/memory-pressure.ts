import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Signs that a machine is short of memory; absent where the system does not tell. */
export interface MemoryPressure {
  /** Share of the last 10 seconds, in percent, in which some task waited for memory (`/proc/pressure/memory`, "some avg10"). */
  waiting?: number
  /** Bytes of swap in use, and all of it. It never counts as memory; much of it in use says that memory is short. */
  swap?: { used: number; total: number }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Linux only; `procRoot` is `/proc`. The file of pressures needs a kernel from 4.20 on that was built with it. */
export function readMemoryPressure(procRoot: string = '/proc'): MemoryPressure {
  const waiting = /^some avg10=([\d.]+)/m.exec(readText(join(procRoot, 'pressure/memory')))?.[1]
  const meminfo = readText(join(procRoot, 'meminfo'))
  const field = (name: string): number | undefined => {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(meminfo)?.[1]
    return found === undefined ? undefined : Number(found) * 1024
  }
  const [total, free] = [field('SwapTotal'), field('SwapFree')]
  return {
    ...(waiting !== undefined && { waiting: Number(waiting) }),
    ...(total !== undefined && free !== undefined && { swap: { used: Math.max(0, total - free), total } }),
  }
}
