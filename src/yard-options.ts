import type { ConfigurationInput } from './config/configuration-input.ts'
import type { YardConfiguration } from './config/yard-configuration.ts'
import type { Engine } from './engines/engine.ts'
import type { MemoryProbe } from './host/memory.ts'
import type { SlowReaderRule } from './runs/part-buffer.ts'

/** Options of `createYard`: what a configuration file may hold, and what only code can give. Everything may be left out. */
export interface YardOptions extends Omit<ConfigurationInput, 'engines'> {
  /**
   * Directory this yard owns alone: models, database, worker logs. Default: `MODELYARD_HOME`, else the platform's own places. `false` keeps
   * nothing between runs and shares nothing: measurements and runs are forgotten, only the models' folder is used.
   */
  home?: string | false
  /** A configuration that was loaded and checked before; the options of the input form are ignored then. */
  configuration?: YardConfiguration
  /** Engines besides the built-in ones, by their `name`. They run in this process. */
  engines?: readonly Engine[]
  /** File to record a trace into, for `modelyard simulate`; replaces what is there. Nothing of what people write is in it. Default: none. */
  recordTrace?: string
  /** What happens to a run whose reader is more than `capacity` characters behind. Default: it pauses past 4 million. */
  slowReader?: { capacity?: number; rule?: SlowReaderRule }
  /** Reads the memory of this machine in another way than ours: for places we do not know, and for tests. */
  memoryProbe?: MemoryProbe
}
