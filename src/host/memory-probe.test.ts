import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { coreCount } from './host-facts.ts'
import { HostMemoryProbe } from './memory-probe.ts'
import type { DomainReading } from './memory.ts'

const GIB = 1024 ** 3

interface Fixture {
  /** Paths below `proc` and `cgroup`, and their content. */
  [path: string]: string
}

function meminfo(total: number, available: number): string {
  const kb = (bytes: number): string => `${bytes / 1024} kB`
  return `MemTotal:       ${kb(total)}\nMemFree:        ${kb(1 * GIB)}\nMemAvailable:   ${kb(available)}\nSwapFree:       ${kb(64 * GIB)}\n`
}

const HOST_64: Fixture = { 'proc/meminfo': meminfo(64 * GIB, 40 * GIB) }

function rootsWith(files: Fixture): { procRoot: string; cgroupRoot: string; root: string } {
  const root = mkdtempSync(join(tmpdir(), 'host-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return { procRoot: join(root, 'proc'), cgroupRoot: join(root, 'cgroup'), root }
}

function read(files: Fixture): DomainReading | undefined {
  return new HostMemoryProbe({ ...rootsWith(files), platform: 'linux' }).read().ram
}

function groupV2(path: string, max: string, current: number, inactiveFile: number): Fixture {
  return {
    [`cgroup${path}/memory.max`]: `${max}\n`,
    [`cgroup${path}/memory.current`]: `${current}\n`,
    [`cgroup${path}/memory.stat`]: `anon ${current - inactiveFile}\nfile ${inactiveFile}\ninactive_file ${inactiveFile}\nactive_file 0\n`,
  }
}

function groupV1(path: string, limit: string, usage: number, inactiveFile: number): Fixture {
  return {
    [`cgroup/memory${path}/memory.limit_in_bytes`]: `${limit}\n`,
    [`cgroup/memory${path}/memory.usage_in_bytes`]: `${usage}\n`,
    [`cgroup/memory${path}/memory.stat`]: `inactive_file 0\ntotal_inactive_file ${inactiveFile}\n`,
  }
}

describe('the memory of the host (M8)', () => {
  it('is what the kernel calls available, and swap never counts', () => {
    expect(read(HOST_64)).toEqual({ total: 64 * GIB, available: 40 * GIB, source: 'MemAvailable' })
  })

  it('is unknown, and so absent, when it cannot be read', () => {
    expect(read({})).toBeUndefined()
    expect(read({ 'proc/meminfo': 'MemTotal: 0 kB\nMemAvailable: 0 kB\n' })).toBeUndefined()
    expect(read({ 'proc/meminfo': 'nonsense' })).toBeUndefined()
  })

  it('is what is free on kernels that do not say what is available', () => {
    const reading = read({ 'proc/meminfo': 'MemTotal: 8388608 kB\nMemFree: 1048576 kB\n' })
    expect(reading).toMatchObject({ total: 8 * GIB, available: GIB })
    expect(reading?.source).toContain('no MemAvailable')
  })

  it('comes from Node elsewhere, and says so', () => {
    const { ram } = new HostMemoryProbe({ platform: 'darwin' }).read()
    expect(ram).toMatchObject({ total: totalmem(), source: 'os.freemem on darwin' })
    expect(ram?.available).toBeGreaterThan(0)
  })
})

describe('the memory inside a container (BR-28)', () => {
  const own = { ...HOST_64, 'proc/self/cgroup': '0::/service\n' }

  it('does not count file pages that can be pushed out as used: max 8, current 7.5, of it 6 inactive file', () => {
    const reading = read({ ...own, ...groupV2('/service', String(8 * GIB), 7.5 * GIB, 6 * GIB) })
    expect(reading).toMatchObject({ total: 8 * GIB, available: 6.5 * GIB })
    expect(reading?.source).toMatch(/^cgroup v2 .*service$/)
  })

  it('has no limit with "max"', () => {
    expect(read({ ...own, ...groupV2('/service', 'max', 7 * GIB, 0) })).toEqual(read(HOST_64))
  })

  it('is bound by a parent that is smaller than its child', () => {
    const reading = read({
      ...own,
      'proc/self/cgroup': '0::/slice/service\n',
      ...groupV2('/slice', String(4 * GIB), 3 * GIB, 0),
      ...groupV2('/slice/service', String(16 * GIB), 1 * GIB, 0),
    })
    expect(reading).toMatchObject({ total: 4 * GIB, available: 1 * GIB })
    expect(reading?.source).toMatch(/^cgroup v2 .*slice$/)
  })

  it('names both groups when one has the limit and another the least free', () => {
    const reading = read({
      ...own,
      'proc/self/cgroup': '0::/slice/service\n',
      ...groupV2('/slice', String(8 * GIB), 7.5 * GIB, 0),
      ...groupV2('/slice/service', String(4 * GIB), 1 * GIB, 0),
    })
    expect(reading).toMatchObject({ total: 4 * GIB, available: 0.5 * GIB })
    expect(reading?.source).toMatch(/^cgroup v2 .*slice; limit of cgroup v2 .*slice\/service$/)
  })

  it('takes memory.high for a limit, since past it the group only crawls', () => {
    const files = { ...groupV2('/service', 'max', GIB, 0), 'cgroup/service/memory.high': String(2 * GIB) }
    expect(read({ ...own, ...files })).toMatchObject({ total: 2 * GIB, available: GIB })
  })

  it("is the host's available memory when that is less than what the group has free", () => {
    const files = groupV2('/service', String(60 * GIB), GIB, 0)
    expect(read({ ...own, ...files })).toMatchObject({ total: 60 * GIB, available: 40 * GIB })
  })

  it('of version 1 takes 9223372036854771712 for no limit', () => {
    const files = groupV1('/docker/abc', '9223372036854771712', 7 * GIB, 0)
    expect(read({ ...HOST_64, 'proc/self/cgroup': '4:memory:/docker/abc\n', ...files })).toEqual(
      read(HOST_64),
    )
  })

  it('of version 1 counts limit, usage and reclaimable pages of the whole hierarchy', () => {
    const files = groupV1('/docker/abc', String(2 * GIB), 1.5 * GIB, GIB)
    const reading = read({ ...HOST_64, 'proc/self/cgroup': '4:memory:/docker/abc\n0::/\n', ...files })
    expect(reading).toMatchObject({ total: 2 * GIB, available: 1.5 * GIB })
    expect(reading?.source).toContain('cgroup v1')
  })

  it("finds its limit at the top when the host's path is not visible inside", () => {
    const reading = read({
      ...HOST_64,
      'proc/self/cgroup': '4:memory:/docker/abc\n',
      ...groupV1('', String(2 * GIB), 0.5 * GIB, 0),
    })
    expect(reading).toMatchObject({ total: 2 * GIB, available: 1.5 * GIB })
  })

  it("follows the table of mounts to a group below the container's top", () => {
    const reading = read({
      ...HOST_64,
      'proc/self/cgroup': '0::/docker/abc/init\n',
      'proc/self/mountinfo': '36 35 0:30 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate\n',
      ...groupV2('/init', String(3 * GIB), GIB, 0),
    })
    expect(reading).toMatchObject({ total: 3 * GIB, available: 2 * GIB })
  })

  it.each(['', 'abc', '-1', '0', '18446744073709551615'])(
    'never turns the odd limit %j into a budget',
    (odd) => {
      const reading = read({ ...own, ...groupV2('/service', odd, GIB, 0) })
      expect(reading).toMatchObject({ total: 64 * GIB, available: 40 * GIB })
    },
  )

  it('never has less than nothing free, and more reclaimable than used is not more than the limit', () => {
    expect(read({ ...own, ...groupV2('/service', String(GIB), 2 * GIB, 0) })?.available).toBe(0)
    expect(read({ ...own, ...groupV2('/service', String(GIB), 1024, 2 * GIB) })?.available).toBe(GIB)
  })

  it('says when a file could not be read, and takes unknown usage for full (R5)', () => {
    const unreadable = { ...own, 'cgroup/service/memory.max/is-a-folder': '' }
    expect(read(unreadable)).toMatchObject({ total: 64 * GIB, available: 40 * GIB })
    expect(read(unreadable)?.source).toMatch(/^MemAvailable; .*memory\.max unreadable \(EISDIR\)$/)
    const noUsage = { ...own, 'cgroup/service/memory.max': String(2 * GIB) }
    expect(read(noUsage)).toMatchObject({ total: 2 * GIB, available: 0 })
    expect(read(noUsage)?.source).toContain('usage unreadable')
  })
})

describe('usable cores (R17)', () => {
  it('are those of the machine without a quota', () => {
    expect(coreCount({ ...rootsWith({}), parallelism: 8 })).toBe(8)
  })

  it('are bound by the quota of version 2, rounded down, at least one', () => {
    const cores = (max: string): number =>
      coreCount({
        ...rootsWith({ 'proc/self/cgroup': '0::/a\n', 'cgroup/a/cpu.max': max }),
        parallelism: 8,
      })
    expect(cores('250000 100000\n')).toBe(2)
    expect(cores('50000 100000\n')).toBe(1)
    expect(cores('max 100000\n')).toBe(8)
    expect(cores('nonsense\n')).toBe(8)
  })

  it('are bound by the smallest quota of version 1 up the chain', () => {
    const files = {
      'proc/self/cgroup': '2:cpu,cpuacct:/a/b\n',
      'proc/self/mountinfo': '33 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n',
      'cgroup/cpu/a/cpu.cfs_quota_us': '300000\n',
      'cgroup/cpu/a/cpu.cfs_period_us': '100000\n',
      'cgroup/cpu/a/b/cpu.cfs_quota_us': '-1\n',
      'cgroup/cpu/a/b/cpu.cfs_period_us': '100000\n',
    }
    expect(coreCount({ ...rootsWith(files), parallelism: 8 })).toBe(3)
  })
})
