import { readdir } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import {
  findPackage,
  importFrom,
  type FoundPackage,
  type Obstacle,
  type WantedPackage,
} from '../in-process/engine-package.ts'
import type { LlamaModule } from './llama-module.ts'

const WANTED: WantedPackage = {
  engine: 'node-llama-cpp',
  package: 'node-llama-cpp',
  versions: /^3\.(2[1-9]|[3-9]\d)\./,
  wanted: '3.21',
}

/** Looks for the package and its binary without importing them: nothing of it runs in a server's own process. */
export async function findLlamaPackage(
  enginesDirectory: string | undefined,
): Promise<FoundPackage | Obstacle> {
  const found = await findPackage(WANTED, enginesDirectory)
  if ('reason' in found || (await hasBinary(found))) return found
  return {
    reason: `${WANTED.package} has no binary for ${platform()} ${arch()}. (${found.directory})`,
    remedy: `Run \`modelyard engines install ${WANTED.engine}\`.`,
  }
}

const PLATFORMS: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'mac', win32: 'win' }

/** Binaries come in packages of their own, or from a build on this machine. */
async function hasBinary({ modules, directory }: FoundPackage): Promise<boolean> {
  const wanted = `${PLATFORMS[platform()] ?? platform()}-${arch() === 'arm' ? 'armv7l' : arch()}`
  const places = [
    join(modules, '@node-llama-cpp'),
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
  const module = await importFrom(WANTED, found, ({ directory }) => join(directory, 'dist/index.js'))
  return { module: module as LlamaModule, version: 'version' in found ? found.version : '' }
}
