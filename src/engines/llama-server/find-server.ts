import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { findExecutable } from '../../host/executables.ts'
import { runCommand } from '../../host/run-command.ts'

const REMEDY =
  'Install it: modelyard engines install llama-server; or put llama-server on PATH; or name it in the option "binary".'
/** Milliseconds that a program has to say its version. */
const VERSION_TIMEOUT = 20_000

/** A llama-server that can be started. */
export interface FoundServer {
  command: string
  version: string
  /** Tells builds apart that call themselves the same. */
  build: string
  from: 'option' | 'path' | 'installed'
}

export interface ServerSearch {
  /** Named by a model's option: then nothing else is looked at. */
  binary: string | undefined
  /** Folder of installed engines. */
  enginesDirectory: string | undefined
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

const versions = new Map<string, Promise<string | undefined>>()

/** The program to start: the one that is named, else the one on PATH, else the installed one. */
export async function findServer({
  binary,
  enginesDirectory,
}: ServerSearch): Promise<FoundServer | { reason: string; remedy: string }> {
  if (binary !== undefined) {
    const found = findExecutable(binary)
    return found === undefined
      ? { reason: `There is no program ${binary}.`, remedy: REMEDY }
      : await described(found, 'option')
  }
  const onPath = findExecutable('llama-server')
  if (onPath !== undefined) return await described(onPath, 'path')
  const installed =
    enginesDirectory === undefined ? undefined : findExecutable(installedServer(enginesDirectory).command)
  if (installed !== undefined) return await described(installed, 'installed', enginesDirectory)
  return { reason: 'There is no llama-server here.', remedy: REMEDY }
}

async function described(
  command: string,
  from: FoundServer['from'],
  enginesDirectory?: string,
): Promise<FoundServer | { reason: string; remedy: string }> {
  const { size, mtimeMs } = await stat(command)
  const key = `${command}:${size}:${mtimeMs}`
  const asked =
    versions.get(key) ?? (enginesDirectory === undefined ? askVersion(command) : noted(enginesDirectory))
  versions.set(key, asked)
  const version = await asked
  if (version !== undefined)
    return { command, version, build: `${version}:${size}:${Math.trunc(mtimeMs)}`, from }
  versions.delete(key)
  const reason = `${command} does not say its version; it may be built for another processor.`
  return { reason, remedy: REMEDY }
}

/** What the installation wrote down. */
async function noted(enginesDirectory: string): Promise<string | undefined> {
  try {
    const text = await readFile(installedServer(enginesDirectory).manifest, 'utf8')
    return (JSON.parse(text) as { version?: string }).version
  } catch {
    return undefined
  }
}

async function askVersion(command: string): Promise<string | undefined> {
  const signal = AbortSignal.timeout(VERSION_TIMEOUT)
  const lines: string[] = []
  const outcome = await runCommand({
    command,
    args: ['--version'],
    signal,
    onLine: (line) => lines.push(line),
  }).catch(() => undefined)
  if (outcome?.code !== 0) return undefined
  return /version:?\s*(\S+)/i.exec(lines.join('\n'))?.[1] ?? lines[0]?.trim()
}
