/** One accelerator with memory of its own. */
export interface Device {
  /** For people: `NVIDIA GeForce RTX 4090`. */
  name: string
  /** Bytes; undefined where the driver does not tell, and then nothing may be loaded there (R5). */
  memory?: { total: number; available: number }
  /** What told it, or why it could not. */
  source: string
  /** Bytes by process id, where the driver tells. */
  processes?: ReadonlyMap<number, number>
}

/** How a short command ended; `output` is its standard output. Null: it could not be started, or took too long. */
export type CommandReader = (command: string, args: readonly string[]) => Promise<CommandAnswer | null>

export interface CommandAnswer {
  code: number | null
  output: string
}
