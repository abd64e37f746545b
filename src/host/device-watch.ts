import type { Clock, Timer } from '../base/clock.ts'
import { readAmdDevices } from './amd-devices.ts'
import { readAppleMemory } from './apple-memory.ts'
import type { CommandReader, Device, DeviceActivity } from './device-memory.ts'
import type { HostReading, MeasuredFootprint } from './memory.ts'
import { readNvidiaDevices } from './nvidia-devices.ts'
import { commandReader } from './read-command.ts'

const EVERY = 2000
/** What is older says nothing of now: unknown means no (R5). */
const MOST_AGE = 10_000

export interface DeviceWatchOptions {
  clock: Clock
  /** Default: the running system's. */
  platform?: NodeJS.Platform
  /** Default: runs the command. */
  read?: CommandReader
  /** Default `/sys/class/drm`. */
  drmRoot?: string
}

/**
 * What drivers and commands tell of memory: each GPU as a domain `gpu:0`, `gpu:1`, … and, on a Mac, the memory all share. Commands take
 * their time, so they are asked every 2 seconds, only where there is something to ask for; in between the last answer holds.
 */
export class DeviceWatch {
  readonly #clock: Clock
  readonly #platform: NodeJS.Platform
  readonly #read: CommandReader
  readonly #drmRoot: string | undefined
  #devices: Device[] = []
  #reading: HostReading = {}
  #readAt = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined
  #closed = false

  constructor({
    clock,
    platform = process.platform,
    read = commandReader(clock),
    drmRoot,
  }: DeviceWatchOptions) {
    this.#clock = clock
    this.#platform = platform
    this.#read = read
    this.#drmRoot = drmRoot
  }

  /** Reads once, and goes on until closed where there is anything. */
  async start(): Promise<void> {
    await this.refresh()
    const something = this.#devices.length > 0 || Object.keys(this.#reading).length > 0
    if (something && !this.#closed) this.#timer = this.#clock.setTimer(EVERY, () => void this.start())
  }

  /** Reads everything now. Never rejects. */
  async refresh(): Promise<void> {
    const devices = this.#platform === 'darwin' ? [] : await this.#readDevices()
    const ram = this.#platform === 'darwin' ? await readAppleMemory(this.#read) : undefined
    this.#devices = devices
    this.#reading = { ...domainsOf(devices), ...(ram !== undefined && { ram }) }
    this.#readAt = this.#clock.now()
  }

  /** The domains that can be read; empty when the last answer is too old. */
  read(): HostReading {
    return this.#clock.now() - this.#readAt > MOST_AGE ? {} : this.#reading
  }

  /** What a process holds on devices, where their driver tells of processes. */
  heldBy(pid: number): MeasuredFootprint {
    const held: MeasuredFootprint = {}
    this.#devices.forEach(({ processes }, index) => {
      const bytes = processes?.get(pid)
      if (bytes !== undefined) held[`gpu:${index}`] = { private: bytes, shared: 0 }
    })
    return held
  }

  /** How busy each device was when it was last looked at (M18). */
  activity(): DeviceActivity[] {
    const isOld = this.#clock.now() - this.#readAt > MOST_AGE
    return this.#devices.map(({ name, busy, source, memory }, index) => {
      const domain = `gpu:${index}` as const
      if (busy !== undefined && !isOld) return { domain, busy }
      const why =
        memory === undefined ? source : isOld ? `${name} was not read of late` : untold(name, source)
      return { domain, unknown: `How busy ${domain} is cannot be said: ${why}.` }
    })
  }

  /** Why devices that are there are not used: one sentence each. */
  unreadable(): string[] {
    return this.#devices.filter(({ memory }) => memory === undefined).map(({ source }) => source)
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  async #readDevices(): Promise<Device[]> {
    return [...(await readNvidiaDevices(this.#read)), ...readAmdDevices(this.#drmRoot)]
  }
}

function untold(name: string, source: string): string {
  return `its driver does not tell it of ${name} (${source})`
}

/** Devices keep their number when another one cannot be read: engines count them all. */
function domainsOf(devices: readonly Device[]): HostReading {
  const reading: HostReading = {}
  devices.forEach(({ memory, source }, index) => {
    if (memory !== undefined) reading[`gpu:${index}`] = { ...memory, source }
  })
  return reading
}
