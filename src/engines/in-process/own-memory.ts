import { readFile } from 'node:fs/promises'
import type { MeasuredFootprint } from '../../host/memory.ts'
import { parseSmapsRollup } from '../../host/process-memory.ts'

/** What this process holds: all of it belongs to the model when it runs in a worker of its own. */
export async function ownMemory(): Promise<MeasuredFootprint> {
  try {
    return { ram: parseSmapsRollup(await readFile('/proc/self/smaps_rollup', 'latin1')) }
  } catch {
    return { ram: { private: process.memoryUsage().rss, shared: 0 } }
  }
}
