/** What the largest files of llama.cpp take while they are compiled, with what the linker takes at the end. */
const BYTES_PER_JOB = 1.5 * 1024 ** 3

export interface BuildMachine {
  cores: number
  /** Bytes of memory that are free; undefined where that cannot be read. */
  available: number | undefined
}

/** Files that are compiled at once: as many as cores and free memory allow, one where memory is unknown. */
export function buildJobs({ cores, available }: BuildMachine): number {
  const inMemory = available === undefined ? 1 : Math.floor(available / BYTES_PER_JOB)
  return Math.max(1, Math.min(cores, inMemory))
}
