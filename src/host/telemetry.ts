import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { processTree } from './process-tree.ts'

/** Parts of the time since the machine began in which somebody stood still for want of a resource (PSI), in seconds. */
export interface PressureReading {
  resource: 'cpu' | 'memory' | 'io'
  /** `some`: at least one task waited; `full`: all did. */
  share: 'some' | 'full'
  stalledSeconds: number
}

/** Bytes. */
export interface SwapReading {
  total: number
  free: number
}

/** What all cores together have done since the machine began, in seconds. */
export interface ProcessorTimes {
  busy: number
  idle: number
}

/** Linux counts processor time in ticks of a hundredth of a second, whatever the kernel's own clock is. */
const TICKS_PER_SECOND = 100

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Empty where the kernel does not measure it (before 4.20, or switched off) and on other systems. */
export function readPressure(procRoot = '/proc'): PressureReading[] {
  return (['cpu', 'memory', 'io'] as const).flatMap((resource) => {
    const text = readText(join(procRoot, 'pressure', resource))
    return (['some', 'full'] as const).flatMap((share) => {
      const micros = new RegExp(`^${share} .*\\btotal=(\\d+)$`, 'm').exec(text)?.[1]
      return micros === undefined ? [] : [{ resource, share, stalledSeconds: Number(micros) / 1e6 }]
    })
  })
}

/** Undefined where it cannot be read. Swap never counts as memory (R5); it is only shown. */
export function readSwap(procRoot = '/proc'): SwapReading | undefined {
  const text = readText(join(procRoot, 'meminfo'))
  const field = (name: string): number | undefined => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  }
  const total = field('SwapTotal')
  const free = field('SwapFree')
  return total === undefined || free === undefined ? undefined : { total, free }
}

/** Of the whole machine, other programs included; undefined where the system does not tell. */
export function readProcessorTimes(read: typeof cpus = cpus): ProcessorTimes | undefined {
  const cores = read()
  if (cores.length === 0) return undefined
  const sum: ProcessorTimes = { busy: 0, idle: 0 }
  for (const { times } of cores) {
    sum.busy += (times.user + times.nice + times.sys + times.irq) / 1000
    sum.idle += times.idle / 1000
  }
  return sum
}

/** Processor time that a process and its descendants have used, in seconds; undefined when it is gone or cannot be read. */
export function readProcessorSeconds(pid: number, procRoot = '/proc'): number | undefined {
  const times = processTree(pid).map((member) => {
    const stat = readText(join(procRoot, String(member), 'stat'))
    // The name in brackets may hold spaces and brackets itself: fields are counted after the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  })
  const known = times.filter((time) => Number.isFinite(time))
  return known.length === 0 ? undefined : known.reduce((sum, time) => sum + time, 0)
}
