import { readFile } from 'node:fs/promises'

/** Instruction sets of this machine's x86 processor, as Linux names them; undefined where it does not say, or it is another kind. */
export async function processorFlags(
  path: string = '/proc/cpuinfo',
): Promise<ReadonlySet<string> | undefined> {
  try {
    const line = /^flags\s*:(.*)$/m.exec(await readFile(path, 'latin1'))?.[1]
    return line === undefined ? undefined : new Set(line.trim().split(/\s+/))
  } catch {
    return undefined
  }
}
