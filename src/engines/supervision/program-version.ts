import { stat } from 'node:fs/promises'
import { askProgram, type ProgramFile } from './ask-program.ts'

/** What a program is, by its own word and by its file. */
export interface ProgramVersion {
  version: string
  /** Tells builds apart that call themselves the same. */
  build: string
}

/**
 * What a program says to `--version`, asked once for each file as it is.
 * @returns undefined when it says nothing that is a version: it may be built for another processor
 */
export async function programVersion(command: string): Promise<ProgramVersion | undefined> {
  const stats = await stat(command)
  const version = versionIn((await askProgram(command, '--version', stats)) ?? [])
  return version === undefined ? undefined : { version, build: buildOf(version, stats) }
}

/** @param file what `stat` says of it */
export function buildOf(version: string, { size, mtimeMs }: ProgramFile): string {
  return `${version}:${size}:${Math.trunc(mtimeMs)}`
}

/** `version: 4567 (abc)`, `stable-diffusion.cpp version unknown, commit 6b3edaa`, or the first line whole. */
export function versionIn(lines: readonly string[]): string | undefined {
  const text = lines.join('\n')
  const version = /version:?\s*([^\s,]+)/i.exec(text)?.[1]
  const commit = /commit:?\s*([^\s,)]+)/i.exec(text)?.[1]
  return (version === 'unknown' ? commit : version) ?? lines[0]?.trim()
}
