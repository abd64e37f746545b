import type { InstallOptions } from './install-engine.ts'

export interface EngineWishes extends InstallOptions {
  /** Compile it instead of fetching it, where that can be done. */
  fromSource?: boolean
  /** Files to compile at once. Default: as cores and free memory allow. */
  jobs?: number
  /** Definitions for the compilation, for example `GGML_CUDA=ON`. */
  settings?: readonly string[]
  /** With what its models need to see images. Default: where that is there already, it is kept. */
  vision?: boolean
  /** What one should know afterwards. */
  onNote?: (sentence: string) => void
}

/** How an engine is compiled. */
export interface CompiledEngine {
  /** What would come of it. @throws ModelyardError `engine_missing` where there is no source */
  version(enginesFolder: string): Promise<string>
  /** Whether that is there already, with the same settings and for this processor. @throws ModelyardError likewise */
  isThere(enginesFolder: string, settings: readonly string[]): Promise<boolean>
  /** For people. */
  size: string
  diskBytes: number
}

/** An addition to an engine, by which its models see images. */
export interface EngineVision {
  /** What is wanted. */
  version: string
  /** For people, with the engine. */
  size: string
  diskBytes: number
  /** Version that is there and complete. */
  installed(enginesFolder: string): Promise<string | undefined>
}

/** How an engine came to be here. */
export interface EngineOrigin {
  /** `wheel`, `compiled`, `on PATH`. */
  how: string
  /** Its program. */
  path: string
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
  /** How that one came here; absent = there is but one way. */
  origin?(enginesFolder: string): Promise<EngineOrigin | undefined>
  /** Absent = it cannot be compiled here. */
  compiled?: CompiledEngine
  /** What its models see images by, as an addition; absent = there is no such thing. */
  vision?: EngineVision
  /** Whether that version will do. */
  suits(version: string): boolean
  /** @returns the version that is there then; @throws ModelyardError `engine_missing` with the last lines, `unsupported`, `aborted` */
  install(enginesFolder: string, wishes: EngineWishes): Promise<string>
  /** @returns whether there was anything */
  remove(enginesFolder: string): Promise<boolean>
  /** Counts in a line of the package manager, for the note while one waits. */
  counts(line: string): string | undefined
}
