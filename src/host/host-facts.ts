import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { controlGroups, type ControlGroup, type HostRoots } from './cgroup.ts'
import type { HostReading, MemoryProbe } from './memory.ts'

/** CPU time a group may use, in cores (1.5 = one and a half); undefined when it has no quota. */
function quotaOf({ version, directory }: ControlGroup): number | undefined {
  const read = (name: string): string => {
    try {
      return readFileSync(join(directory, name), 'latin1').trim()
    } catch {
      return ''
    }
  }
  const [quota, period] =
    version === 2 ? read('cpu.max').split(' ') : [read('cpu.cfs_quota_us'), read('cpu.cfs_period_us')]
  const cores = Number(quota) / Number(period)
  return Number.isFinite(cores) && cores > 0 ? cores : undefined
}

/**
 * Cores this process may really use: those of its affinity mask, bounded by the CPU quotas of its control groups, rounded down, at
 * least 1. More threads than that cost most of llama.cpp's speed (R17).
 */
export function coreCount(options: HostRoots & { parallelism?: number } = {}): number {
  const quotas = controlGroups('cpu', options)
    .map(quotaOf)
    .filter((quota) => quota !== undefined)
  return Math.max(1, Math.floor(Math.min(options.parallelism ?? availableParallelism(), ...quotas)))
}

/** What plans depend on: usable cores and the memory as it is now. */
export function readHostFacts(
  probe: MemoryProbe,
  roots: HostRoots = {},
): { cores: number; memory: HostReading } {
  return { cores: coreCount(roots), memory: probe.read() }
}
