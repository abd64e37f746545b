import { ModelyardError } from '../../base/errors.ts'
import { runCommand } from '../../host/run-command.ts'

export type PythonVersion = readonly [major: number, minor: number]

export interface PythonWishes {
  least: PythonVersion
  modules: readonly string[]
  signal: AbortSignal
}

/**
 * Absolute path of the first Python that is new enough and has the modules (`pip`, `venv`).
 * @throws ModelyardError `engine_missing`; `without` = what else can be done
 */
export async function findPython(
  engine: string,
  { without, ...wishes }: PythonWishes & { without: string },
): Promise<string> {
  const found = await lookForPython(wishes)
  if (found !== undefined) return found
  const { modules, least } = wishes
  throw new ModelyardError(
    'engine_missing',
    `${engine} comes in Python wheels, and there is no python3 with ${modules.join(' and ')} from ${least.join('.')} on. Install one and try again${without}.`,
  )
}

/** The same where there need not be one. */
export async function lookForPython({ least, modules, signal }: PythonWishes): Promise<string | undefined> {
  const question = `import sys, ${modules.join(', ')}; print("%d %d %s" % (sys.version_info[0], sys.version_info[1], sys.executable))`
  for (const command of ['python3', 'python']) {
    const lines: string[] = []
    const onLine = (line: string): void => void lines.push(line)
    const outcome = await runCommand({ command, args: ['-c', question], signal, onLine })
    const [, major, minor, path] = /^(\d+) (\d+) (.+)$/.exec(lines.at(-1) ?? '') ?? []
    if (outcome.code !== 0 || path === undefined) continue
    if (Number(major) === least[0] && Number(minor) >= least[1]) return path
  }
  return undefined
}
