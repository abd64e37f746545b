import type { MemoryDomain } from './memory.ts'

/** One accelerator with memory of its own. */
export interface Device {
  /** For people: `NVIDIA GeForce RTX 4090`. */
  name: string
  /** Bytes; undefined where the driver does not tell, and then nothing may be loaded there (R5). */
  memory?: { total: number; available: number }
  /** What told it, or why it could not. */
  source: string
  /** Part of the last moments in which it worked, 0…1, where the driver tells. */
  busy?: number
  /** Bytes by process id, where the driver tells. */
  processes?: ReadonlyMap<number, number>
}

/** How busy a device is, or why nobody can say. */
export interface DeviceActivity {
  domain: MemoryDomain
  /** 0…1 */
  busy?: number
  unknown?: string
}

/** How a short command ended; `output` is its standard output. Null: it could not be started, or took too long. */
export type CommandReader = (command: string, args: readonly string[]) => Promise<CommandAnswer | null>

export interface CommandAnswer {
  code: number | null
  output: string
}
