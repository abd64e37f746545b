import { stat } from 'node:fs/promises'
import { findExecutable } from '../../host/executables.ts'
import { processorFlags } from '../../host/processor-flags.ts'
import { runCommand } from '../../host/run-command.ts'
import { installedServer, lackingInstructions, readServerManifest } from './server-manifest.ts'

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
  /** Named by an option, found on `PATH`, or installed here: from a wheel, or compiled. */
  from: 'option' | 'path' | 'wheel' | 'source'
}

/** Why there is none, and what to do. */
export interface NoServer {
  reason: string
  remedy: string
}

export interface ServerSearch {
  /** Named by a model's option: then nothing else is looked at. */
  binary: string | undefined
  /** Folder of installed engines. */
  enginesDirectory: string | undefined
}

const versions = new Map<string, Promise<string | undefined>>()
/** Asked once: on machines with many cores it takes a while. */
let flagsHere: Promise<ReadonlySet<string> | undefined> | undefined

/** The program to start: the one that is named, else the one on PATH, else the installed one. */
export async function findServer({
  binary,
  enginesDirectory,
}: ServerSearch): Promise<FoundServer | NoServer> {
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
  if (installed !== undefined) return await describedInstalled(installed, enginesDirectory ?? '')
  return { reason: 'There is no llama-server here.', remedy: REMEDY }
}

async function described(command: string, from: 'option' | 'path'): Promise<FoundServer | NoServer> {
  const { size, mtimeMs } = await stat(command)
  const key = `${command}:${size}:${mtimeMs}`
  const asked = versions.get(key) ?? askVersion(command)
  versions.set(key, asked)
  const version = await asked
  if (version !== undefined) return { command, version, build: buildOf(version, size, mtimeMs), from }
  versions.delete(key)
  const reason = `${command} does not say its version; it may be built for another processor.`
  return { reason, remedy: REMEDY }
}

/** What the installation wrote down says enough: the program itself is not asked. */
async function describedInstalled(
  command: string,
  enginesDirectory: string,
): Promise<FoundServer | NoServer> {
  const manifest = await readServerManifest(enginesDirectory)
  if (manifest === undefined) return { reason: `${command} is not wholly installed.`, remedy: REMEDY }
  const lacking =
    manifest.instructions === undefined
      ? []
      : lackingInstructions(manifest, await (flagsHere ??= processorFlags()))
  if (lacking.length > 0) {
    const reason = `${command} was compiled for a processor with ${lacking.join(', ')}, which this one lacks.`
    return { reason, remedy: 'Compile it anew: modelyard engines install llama-server --from-source' }
  }
  const { size, mtimeMs } = await stat(command)
  const { version, from } = manifest
  return { command, version, build: buildOf(version, size, mtimeMs), from }
}

function buildOf(version: string, size: number, modified: number): string {
  return `${version}:${size}:${Math.trunc(modified)}`
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
