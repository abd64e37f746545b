import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import * as printed from './__fixtures__/drivers.ts'
import { readAmdDevices } from './amd-devices.ts'
import { parseVmStat } from './apple-memory.ts'
import type { CommandAnswer, CommandReader } from './device-memory.ts'
import { DeviceWatch } from './device-watch.ts'
import { HostMemoryProbe } from './memory-probe.ts'
import { readMemoryPressure } from './memory-pressure.ts'
import { readNvidiaDevices } from './nvidia-devices.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** Answers by a word of the command line; all other commands are not there. */
function answering(answers: Record<string, CommandAnswer | string>): CommandReader {
  return async (command, args) => {
    const line = [command, ...args].join(' ')
    const answer = Object.entries(answers).find(([word]) => line.includes(word))?.[1]
    if (answer === undefined) return null
    return typeof answer === 'string' ? { code: 0, output: answer } : answer
  }
}

function folderOf(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'devices-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

const TWO_CARDS = answering({
  'query-gpu': printed.NVIDIA_TWO_CARDS,
  'compute-apps': printed.NVIDIA_PROCESSES,
})

describe('NVIDIA’s devices (M8, R14)', () => {
  it('are read in the order of their index, with what each process holds', async () => {
    const [first, second] = await readNvidiaDevices(TWO_CARDS)
    expect(first).toEqual({
      name: 'NVIDIA GeForce RTX 4090',
      memory: { total: 24_564 * MIB, available: 20_112 * MIB },
      source: 'nvidia-smi, NVIDIA GeForce RTX 4090',
      processes: new Map([[4711, 4096 * MIB]]),
    })
    expect(second?.memory).toEqual({ total: 12_288 * MIB, available: 11_930 * MIB })
    expect(second?.processes).toEqual(new Map())
  })

  it('are none without the command', async () => {
    expect(await readNvidiaDevices(answering({}))).toEqual([])
  })

  it('with unified memory do not tell it: unknown, with the reason (R5)', async () => {
    expect(await readNvidiaDevices(answering({ 'query-gpu': printed.NVIDIA_UNIFIED }))).toEqual([
      { name: 'NVIDIA GB10', source: 'nvidia-smi does not tell the memory of NVIDIA GB10' },
    ])
  })

  it('without their driver are one that cannot be read', async () => {
    const read = answering({ 'query-gpu': { code: 9, output: printed.NVIDIA_NO_DRIVER } })
    expect((await readNvidiaDevices(read))[0]?.source).toMatch(
      /^nvidia-smi failed \(exit code 9\): NVIDIA-SMI has failed because it couldn't communicate/,
    )
  })
})

describe('AMD’s devices', () => {
  it('are read from sysfs; other cards, connectors and cards without the files are not theirs', () => {
    const root = folderOf({
      'card0/device/vendor': '0x8086\n',
      'card1/device/mem_info_vram_total': '17163091968\n',
      'card1/device/mem_info_vram_used': '1163091968\n',
      'card1/device/product_name': 'AMD Radeon RX 7800 XT\n',
      'card1-DP-1/status': 'connected\n',
    })
    expect(readAmdDevices(root)).toEqual([
      {
        name: 'AMD Radeon RX 7800 XT',
        memory: { total: 17_163_091_968, available: 16_000_000_000 },
        source: 'sysfs card1, AMD Radeon RX 7800 XT',
      },
    ])
  })

  it('whose use is unknown cannot be used (R5), and without the folder there are none', () => {
    const root = folderOf({ 'card0/device/mem_info_vram_total': '1024\n' })
    expect(readAmdDevices(root)).toEqual([
      {
        name: 'an AMD GPU',
        source: expect.stringMatching(/card0.*mem_info_vram_used cannot be read$/) as string,
      },
    ])
    expect(readAmdDevices(join(root, 'nowhere'))).toEqual([])
  })
})

describe('how busy devices are (M18)', () => {
  it('is told in percent by nvidia-smi and sysfs', async () => {
    const read = answering({ 'query-gpu': printed.NVIDIA_BUSY })
    const drmRoot = folderOf({
      'card1/device/mem_info_vram_total': '1024\n',
      'card1/device/mem_info_vram_used': '24\n',
      'card1/device/gpu_busy_percent': '99\n',
    })
    const watch = new DeviceWatch({ clock: new ManualClock(), platform: 'linux', read, drmRoot })
    await watch.refresh()
    expect(watch.activity()).toEqual([
      { domain: 'gpu:0', busy: 0.37 },
      {
        domain: 'gpu:1',
        unknown:
          'How busy gpu:1 is cannot be said: its driver does not tell it of NVIDIA T4 (nvidia-smi, NVIDIA T4).',
      },
      { domain: 'gpu:2', busy: 0.99 },
    ])
  })

  it('is unknown when it was not read of late, and where the device cannot be read at all', async () => {
    const clock = new ManualClock()
    const read = answering({ 'query-gpu': { code: 9, output: printed.NVIDIA_NO_DRIVER } })
    const broken = new DeviceWatch({ clock, platform: 'linux', read, drmRoot: '/nowhere' })
    await broken.refresh()
    expect(broken.activity()[0]?.unknown).toMatch(/^How busy gpu:0 is cannot be said: nvidia-smi failed/)
    const busy = answering({ 'query-gpu': printed.NVIDIA_BUSY })
    const stale = new DeviceWatch({ clock, platform: 'linux', read: busy, drmRoot: '/nowhere' })
    await stale.refresh()
    clock.jump(20_000)
    expect(stale.activity()[0]?.unknown).toMatch(/was not read of late\.$/)
  })
})

describe('the memory of a Mac', () => {
  const PAGE = 16_384
  const READABLE = { 'hw.memsize': String(32 * GIB), vm_stat: printed.VM_STAT_APPLE_SILICON }

  it('is free, purgeable and read-ahead pages, and inactive ones of files', () => {
    expect(parseVmStat(printed.VM_STAT_APPLE_SILICON)).toBe((123_456 + 12_345 + 56_789 + 345_678) * PAGE)
    expect(parseVmStat(printed.VM_STAT_OLD)).toBe((90_518 + 134_461) * 4096)
    expect(parseVmStat('vm_stat: command failed')).toBeUndefined()
  })

  it('is one domain, bounded by what the GPU may hold where that was set', async () => {
    const read = async (limit: string): Promise<unknown> => {
      const watch = new DeviceWatch({
        clock: new ManualClock(),
        platform: 'darwin',
        read: answering({ ...READABLE, 'iogpu.wired_limit_mb': limit }),
      })
      await watch.refresh()
      return watch.read()
    }
    expect(await read('0')).toMatchObject({ ram: { total: 32 * GIB, source: 'vm_stat' } })
    expect(await read('24576')).toMatchObject({
      ram: { total: 24 * GIB, source: 'vm_stat; limit of iogpu.wired_limit_mb' },
    })
  })
})

describe('the watch over devices', () => {
  it('makes them domains of the host’s memory: gpu:0, gpu:1', async () => {
    const devices = new DeviceWatch({
      clock: new ManualClock(),
      platform: 'linux',
      read: TWO_CARDS,
      drmRoot: '/none',
    })
    await devices.start()
    const { ram, ...gpus } = new HostMemoryProbe({ devices }).read()
    expect(ram).toBeDefined()
    expect(Object.keys(gpus)).toEqual(['gpu:0', 'gpu:1'])
    expect(devices.heldBy(4711)).toEqual({ 'gpu:0': { private: 4096 * MIB, shared: 0 } })
    expect(devices.heldBy(4712)).toEqual({})
    devices.close()
  })

  it('keeps the number of a device when the one before it cannot be read, and says why', async () => {
    const read = answering({ 'query-gpu': `${printed.NVIDIA_UNIFIED}\n1, GPU-x, NVIDIA L4, 23034, 22000` })
    const devices = new DeviceWatch({ clock: new ManualClock(), platform: 'linux', read, drmRoot: '/none' })
    await devices.refresh()
    expect(Object.keys(devices.read())).toEqual(['gpu:1'])
    expect(devices.unreadable()).toEqual(['nvidia-smi does not tell the memory of NVIDIA GB10'])
  })

  it('asks again every 2 seconds, and a driver that no longer answers is unknown, not free (R5)', async () => {
    const clock = new ManualClock()
    let asked = 0
    let stuck = false
    const read: CommandReader = async (command, args) => {
      if (stuck) return new Promise(() => undefined)
      if (args.join(' ').includes('query-gpu')) asked++
      return TWO_CARDS(command, args)
    }
    const devices = new DeviceWatch({ clock, platform: 'linux', read, drmRoot: '/none' })
    await devices.start()
    expect(asked).toBe(1)
    stuck = true
    clock.advance(2000)
    expect(Object.keys(devices.read())).toHaveLength(2)
    clock.advance(9000)
    expect(devices.read()).toEqual({})
    devices.close()
  })

  it('does not go on where there is nothing', async () => {
    const clock = new ManualClock()
    let asked = 0
    const read: CommandReader = async () => {
      asked++
      return null
    }
    const devices = new DeviceWatch({ clock, platform: 'linux', read, drmRoot: '/none' })
    await devices.start()
    clock.advance(60_000)
    expect(asked).toBe(1)
    expect(devices.read()).toEqual({})
  })
})

describe('pressure on memory (M18)', () => {
  it('is the share of time in which tasks waited, and the swap in use', () => {
    const root = folderOf({
      'pressure/memory': printed.PRESSURE_HIGH,
      meminfo: 'MemTotal: 100 kB\nSwapTotal:       2097152 kB\nSwapFree:        1048576 kB\n',
    })
    expect(readMemoryPressure(root)).toEqual({ waiting: 34.12, swap: { used: GIB, total: 2 * GIB } })
  })

  it('is unknown where the system does not tell', () => {
    expect(readMemoryPressure(folderOf({}))).toEqual({})
  })
})
