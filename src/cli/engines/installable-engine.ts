import type { InstallOptions } from './install-engine.ts'

export interface EngineWishes extends InstallOptions {
  /** Compile it instead of fetching it, where that can be done. */
  fromSource?: boolean
}

/** An engine that is fetched by the user's own package managers, outside of our dependencies: it is large. */
export interface InstallableEngine {
  name: string
  /** What is wanted. */
  version: string
  /** `about 90 MB` */
  size: string
  /** Bytes of disk that an installation needs at its height, drafts included. */
  diskBytes: number
  /** Version that is there and complete, from whatever source. */
  installed(enginesFolder: string): Promise<string | undefined>
  /** Whether that version will do. */
  suits(version: string): boolean
  /** @throws ModelyardError `engine_missing` with the last lines, `unsupported`, `aborted` */
  install(enginesFolder: string, wishes: EngineWishes): Promise<void>
  /** @returns whether there was anything */
  remove(enginesFolder: string): Promise<boolean>
  /** Counts in a line of the package manager, for the note while one waits. */
  counts(line: string): string | undefined
}
