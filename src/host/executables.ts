import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function candidates(command: string, searchPath: string): string[] {
  if (isAbsolute(command)) return [command]
  if (/[/\\]/.test(command)) return [resolve(command)]
  return searchPath
    .split(delimiter)
    .filter(Boolean)
    .map((directory) => join(directory, command))
}

/** Absolute path of a command as the system would find it, or undefined. On Windows `.exe` is tried too. */
export function findExecutable(
  command: string,
  searchPath: string = process.env['PATH'] ?? '',
): string | undefined {
  const paths = candidates(command, searchPath)
  const tried = process.platform === 'win32' ? paths.flatMap((path) => [path, `${path}.exe`]) : paths
  return tried.find(isExecutable)
}
