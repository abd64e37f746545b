import { readFileSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import { join } from 'node:path'
import { controlGroups, type ControlGroup, type HostRoots } from './cgroup.ts'
import type { DomainReading, HostReading, MemoryProbe } from './memory.ts'

export interface MemoryProbeOptions extends HostRoots {
  /** Default: the running system's. Other systems than Linux are asked through Node. */
  platform?: NodeJS.Platform
  /** What drivers tell of devices, and of the memory of a Mac; see `DeviceWatch`. */
  devices?: MemoryProbe
}

/** What one control group allows: its limit, and what of it is free. */
interface GroupReading {
  limit: number
  free: number
  source: string
}

/**
 * File names, and the word for file pages that a load may push out at any time (BR-28). Past `memory.high` the kernel slows a group
 * down to a crawl: for a budget that is a limit.
 */
const FILES = {
  1: {
    limits: ['memory.limit_in_bytes'],
    usage: 'memory.usage_in_bytes',
    reclaimable: 'total_inactive_file',
  },
  2: { limits: ['memory.max', 'memory.high'], usage: 'memory.current', reclaimable: 'inactive_file' },
}

/**
 * Reads the memory of this host: on Linux what the kernel calls available, bounded by every control group above us; swap never
 * counts. What drivers tell of devices is added as it is; without a reading nothing may be loaded there.
 */
export class HostMemoryProbe implements MemoryProbe {
  readonly #options: MemoryProbeOptions
  readonly #platform: NodeJS.Platform
  #groups: ControlGroup[] | undefined

  constructor(options: MemoryProbeOptions = {}) {
    this.#options = options
    this.#platform = options.platform ?? process.platform
  }

  read(): HostReading {
    const ram = this.#platform === 'linux' ? this.#readLinux() : readThroughNode(this.#platform)
    return { ...(ram !== undefined && { ram }), ...this.#options.devices?.read() }
  }

  #readLinux(): DomainReading | undefined {
    const host = readMeminfo(join(this.#options.procRoot ?? '/proc', 'meminfo'))
    if (host === undefined) return undefined
    // Which groups bind us is looked up once: processes are hardly ever moved, and the table of mounts can be long.
    this.#groups ??= controlGroups('memory', this.#options)
    const notes: string[] = []
    const groups = this.#groups
      .map((group) => readGroup(group, host.total, notes))
      .filter((group) => group !== undefined)
    return combine(host, groups, notes)
  }
}

function combine(host: DomainReading, groups: GroupReading[], notes: string[]): DomainReading {
  let { total, available, source } = host
  for (const group of groups) {
    total = Math.min(total, group.limit)
    if (group.free >= available) continue
    available = group.free
    source = group.source
  }
  const smallest = groups.find((group) => group.limit === total)
  const limit = smallest === undefined || smallest.source === source ? [] : [`limit of ${smallest.source}`]
  return { total, available, source: [source, ...limit, ...notes].join('; ') }
}

function readMeminfo(path: string): DomainReading | undefined {
  const text = readText(path)
  const field = (name: string): number | undefined => {
    const match = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text ?? '')
    return match === null ? undefined : Number(match[1]) * 1024
  }
  const total = field('MemTotal')
  const available = field('MemAvailable')
  if (total === undefined || total === 0) return undefined
  if (available !== undefined) return { total, available, source: 'MemAvailable' }
  const free = field('MemFree')
  return free === undefined
    ? undefined
    : { total, available: free, source: 'MemFree (this kernel has no MemAvailable)' }
}

/** A group's limit and its free part; undefined when it has none below the host's memory. What cannot be read is noted. */
function readGroup(
  { version, directory }: ControlGroup,
  hostTotal: number,
  notes: string[],
): GroupReading | undefined {
  const files = FILES[version]
  const limits = files.limits.map((name) => readBytes(join(directory, name), notes)).filter((limit) => limit)
  const limit = Math.min(hostTotal, ...(limits as number[]))
  if (limit === hostTotal) return undefined
  const source = `cgroup v${version} ${directory}`
  const usage = readBytes(join(directory, files.usage), notes)
  // Without its usage a group's free part is unknown, and unknown means no (R5).
  if (usage === undefined) return { limit, free: 0, source: `${source} (usage unreadable)` }
  const used = usage - Math.min(usage, reclaimable(join(directory, 'memory.stat'), files.reclaimable))
  return { limit, free: Math.max(0, limit - used), source }
}

function reclaimable(path: string, field: string): number {
  return Number(new RegExp(`^${field} (\\d+)$`, 'm').exec(readText(path) ?? '')?.[1] ?? 0)
}

/** A number of bytes; undefined for `max`, for files that are not there and, with a note, for what makes no sense. */
function readBytes(path: string, notes: string[]): number | undefined {
  let text: string
  try {
    text = readFileSync(path, 'latin1').trim()
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') notes.push(`${path} unreadable (${code})`)
    return undefined
  }
  if (/^\d+$/.test(text)) return Number(text)
  if (text !== 'max') notes.push(`${path} makes no sense`)
  return undefined
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}

/** macOS: free and inactive pages, without what could be compressed or purged: careful. Windows: available physical memory. */
function readThroughNode(platform: NodeJS.Platform): DomainReading {
  return {
    total: totalmem(),
    available: Math.min(freemem(), totalmem()),
    source: `os.freemem on ${platform}`,
  }
}
