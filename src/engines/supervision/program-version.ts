import { stat } from 'node:fs/promises'
import { runCommand } from '../../host/run-command.ts'

/** Milliseconds that a program has to say its version. */
const TIMEOUT = 20_000

/** What a program is, by its own word and by its file. */
export interface ProgramVersion {
  version: string
  /** Tells builds apart that call themselves the same. */
  build: string
}

const known = new Map<string, Promise<string | undefined>>()

/**
 * What a program says to `--version`, asked once for each file as it is.
 * @returns undefined when it says nothing that is a version: it may be built for another processor
 */
export async function programVersion(command: string): Promise<ProgramVersion | undefined> {
  const stats = await stat(command)
  const key = `${command}:${stats.size}:${stats.mtimeMs}`
  const asked = known.get(key) ?? askVersion(command)
  known.set(key, asked)
  const version = await asked
  if (version !== undefined) return { version, build: buildOf(version, stats) }
  known.delete(key)
  return undefined
}

/** @param file what `stat` says of it */
export function buildOf(version: string, { size, mtimeMs }: { size: number; mtimeMs: number }): string {
  return `${version}:${size}:${Math.trunc(mtimeMs)}`
}

async function askVersion(command: string): Promise<string | undefined> {
  const signal = AbortSignal.timeout(TIMEOUT)
  const lines: string[] = []
  const outcome = await runCommand({
    command,
    args: ['--version'],
    signal,
    onLine: (line) => lines.push(line),
  }).catch(() => undefined)
  return outcome?.code === 0 ? versionIn(lines) : undefined
}

/** `version: 4567 (abc)`, `stable-diffusion.cpp version unknown, commit 6b3edaa`, or the first line whole. */
export function versionIn(lines: readonly string[]): string | undefined {
  const text = lines.join('\n')
  const version = /version:?\s*([^\s,]+)/i.exec(text)?.[1]
  const commit = /commit:?\s*([^\s,)]+)/i.exec(text)?.[1]
  return (version === 'unknown' ? commit : version) ?? lines[0]?.trim()
}
