import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What is written down beside an installed server. */
export interface ServerManifest {
  version: string
  from: 'wheel' | 'source'
  /** Compiled: the release of llama.cpp, for example `v0.4.0`. */
  release?: string
  /** Compiled: what was defined beside our own settings, for example `GGML_CUDA=ON`. */
  settings?: string[]
  /** Compiled: instruction sets that its code may use. Absent where the system does not tell them. */
  instructions?: string[]
}

/** Folder of what `modelyard engines install llama-server` installs, and what lies there. */
export function installedServer(enginesDirectory: string): {
  folder: string
  command: string
  manifest: string
} {
  const folder = join(enginesDirectory, 'llama-server')
  return { folder, command: join(folder, 'llama-server'), manifest: join(folder, 'installed.json') }
}

/** What is installed; undefined when nothing is, or not whole. */
export async function readServerManifest(enginesDirectory: string): Promise<ServerManifest | undefined> {
  try {
    return JSON.parse(await readFile(installedServer(enginesDirectory).manifest, 'utf8')) as ServerManifest
  } catch {
    return undefined
  }
}

/** Of all flags of a processor, those that stand for instructions a compiler uses when it compiles for this very one. */
const INSTRUCTIONS =
  /^(?:abm|adx|amx|avx|bmi|f16c|fma|gfni|movbe|pclmulqdq|popcnt|sha_ni|sse4|ssse3|vaes|vpclmulqdq|xop)/

/** Instruction sets among the flags, sorted; undefined where the flags are unknown. */
export function instructionsAmong(flags: ReadonlySet<string> | undefined): string[] | undefined {
  if (flags === undefined) return undefined
  return [...flags].filter((flag) => INSTRUCTIONS.test(flag)).toSorted()
}

/** Instructions that a compiled server may use and this processor lacks: it would end with SIGILL. Unknown flags are no reason. */
export function lackingInstructions(
  { instructions = [] }: ServerManifest,
  flags: ReadonlySet<string> | undefined,
): string[] {
  return flags === undefined ? [] : instructions.filter((instruction) => !flags.has(instruction))
}
