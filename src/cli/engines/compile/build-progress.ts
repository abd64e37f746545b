/** How far a compilation is, from a line of git, CMake, ninja or make: `compiled 42 of 345 files (12 %)`; undefined = the line does not say. */
export function buildProgress(line: string): string | undefined {
  const [, done, all] = /^\[(\d+)\/(\d+)\]/.exec(line) ?? []
  if (done !== undefined) return `compiled ${done} of ${all} steps (${percent(Number(done), Number(all))} %)`
  const share = /^\[\s*(\d{1,3})%\]/.exec(line)?.[1]
  if (share !== undefined) return `compiled ${share} %`
  return /^(?:unpacking|configuring|compiling|fetching) .*/.exec(line)?.[0]
}

/** Steps that ninja's own log (`.ninja_log`) says an earlier try has done: each output counts once. */
export function stepsDone(ninjaLog: string): number {
  const rows = ninjaLog.split('\n').filter((row) => row !== '' && !row.startsWith('#'))
  return new Set(rows.map((row) => row.split('\t')[3]).filter((output) => output !== undefined)).size
}

/** Ninja counts only what is left: its line with what was done before counted, too. */
export function countedOn(line: string, before: number): string {
  return line.replace(
    /^\[(\d+)\/(\d+)\]/,
    (_, done: string, left: string) => `[${Number(done) + before}/${Number(left) + before}]`,
  )
}

function percent(done: number, all: number): number {
  return all === 0 ? 100 : Math.floor((100 * done) / all)
}
