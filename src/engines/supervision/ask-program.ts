import { runCommand } from '../../host/run-command.ts'

/** Milliseconds that a program has to answer. */
const TIMEOUT = 20_000

/** What `stat` says of a program's file, as far as it tells builds apart. */
export interface ProgramFile {
  size: number
  mtimeMs: number
}

const known = new Map<string, Promise<string[] | undefined>>()

/**
 * The lines that a program writes when it is started with one argument (`--version`, `--help`), asked once for each file as it is.
 * @returns undefined when it fails or writes nothing: it may be built for another processor, or not know the argument; then it is
 * asked again the next time
 */
export async function askProgram(
  command: string,
  argument: string,
  { size, mtimeMs }: ProgramFile,
): Promise<string[] | undefined> {
  const key = [command, argument, size, mtimeMs].join(':')
  const asked = known.get(key) ?? ask(command, argument)
  known.set(key, asked)
  const lines = await asked
  if (lines === undefined) known.delete(key)
  return lines
}

async function ask(command: string, argument: string): Promise<string[] | undefined> {
  const lines: string[] = []
  const outcome = await runCommand({
    command,
    args: [argument],
    signal: AbortSignal.timeout(TIMEOUT),
    onLine: (line) => lines.push(line),
  }).catch(() => undefined)
  return outcome?.code === 0 && lines.length > 0 ? lines : undefined
}
