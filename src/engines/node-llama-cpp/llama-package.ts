import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ModelyardError } from '../../base/errors.ts'
import type { LlamaModule } from './llama-module.ts'

const NAME = 'node-llama-cpp'

/** Versions whose behaviour was measured; others are refused rather than trusted. */
const VERSIONS = /^3\.(2[1-9]|[3-9]\d)\./

/** An installed package. */
export interface LlamaPackage {
  directory: string
  version: string
}

/** What stands in the way of using the package, and the one thing to do about it. */
export interface Obstacle {
  reason: string
  remedy: string
}

const REMEDY = 'Run `modelyard engines install node-llama-cpp`.'

/** Where the package may be: beside the application that uses us, then in the folder of installed engines. */
function candidates(enginesDirectory: string | undefined): string[] {
  const own = createRequire(import.meta.url).resolve.paths(NAME) ?? []
  const installed = enginesDirectory === undefined ? [] : [join(enginesDirectory, NAME, 'node_modules')]
  return [...own, ...installed].map((folder) => join(folder, NAME))
}

/** Looks for the package without importing it: nothing of it runs in a server's own process. */
export async function findLlamaPackage(
  enginesDirectory: string | undefined,
): Promise<LlamaPackage | Obstacle> {
  for (const directory of candidates(enginesDirectory)) {
    const version = await versionIn(directory)
    if (version === undefined) continue
    if (!VERSIONS.test(version)) {
      return {
        reason: `${NAME} ${version} is installed; version 3.21 is needed. (${directory})`,
        remedy: REMEDY,
      }
    }
    return (await hasBinary(directory))
      ? { directory, version }
      : { reason: `${NAME} has no binary for ${platform()} ${arch()}. (${directory})`, remedy: REMEDY }
  }
  return { reason: `The package ${NAME} is not installed.`, remedy: REMEDY }
}

async function versionIn(directory: string): Promise<string | undefined> {
  try {
    const manifest = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as {
      version: string
    }
    return manifest.version
  } catch {
    return undefined
  }
}

const PLATFORMS: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'mac', win32: 'win' }

/** Binaries come in packages of their own, or from a build on this machine. */
async function hasBinary(directory: string): Promise<boolean> {
  const wanted = `${PLATFORMS[platform()] ?? platform()}-${arch() === 'arm' ? 'armv7l' : arch()}`
  const places = [
    join(dirname(directory), '@node-llama-cpp'),
    join(directory, 'bins'),
    join(directory, 'llama/localBuilds'),
  ]
  const names = await Promise.all(places.map((place) => readdir(place).catch(() => [])))
  return names.flat().some((name) => name.startsWith(wanted))
}

/** @throws ModelyardError `engine_missing` */
export async function importLlama(
  enginesDirectory: string | undefined,
): Promise<{ module: LlamaModule; version: string }> {
  const found = await findLlamaPackage(enginesDirectory)
  if ('reason' in found) throw missing(`${found.reason} ${found.remedy}`)
  try {
    const { href } = pathToFileURL(join(found.directory, 'dist/index.js'))
    return { module: (await import(href)) as LlamaModule, version: found.version }
  } catch (error) {
    throw missing(`${NAME} ${found.version} cannot be imported: ${(error as Error).message}`, error)
  }
}

function missing(message: string, cause?: unknown): ModelyardError {
  return new ModelyardError('engine_missing', message, { details: { engine: NAME }, cause })
}
