import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ModelyardError } from '../../base/errors.ts'
import type { Availability } from '../engine.ts'

/** An engine's package as `modelyard engines install` puts it there, or an application has it. */
export interface WantedPackage {
  /** Name of the engine, which is also its folder among the installed ones. */
  engine: string
  package: string
  /** Versions whose behaviour was measured; others are refused rather than trusted. */
  versions: RegExp
  /** The same for people. */
  wanted: string
}

export interface FoundPackage {
  /** The `node_modules` folder it is in. */
  modules: string
  directory: string
  version: string
}

/** What stands in the way of using the package, and the one thing to do about it. */
export interface Obstacle {
  reason: string
  remedy: string
}

/** Looks for the package without importing it: beside the application that uses us, then among the installed engines. */
export async function findPackage(
  wanted: WantedPackage,
  enginesDirectory: string | undefined,
): Promise<FoundPackage | Obstacle> {
  const remedy = `Run \`modelyard engines install ${wanted.engine}\`, with MODELYARD_HOME where the home is another than usual.`
  for (const modules of candidates(wanted, enginesDirectory)) {
    const directory = join(modules, wanted.package)
    const version = await versionIn(directory)
    if (version === undefined) continue
    if (wanted.versions.test(version)) return { modules, directory, version }
    const reason = `${wanted.package} ${version} is installed; version ${wanted.wanted} is needed. (${directory})`
    return { reason, remedy }
  }
  const where = enginesDirectory === undefined ? '' : ` in ${enginesDirectory}`
  return { reason: `The package ${wanted.package} is not installed${where}.`, remedy }
}

function candidates(
  { engine, package: name }: WantedPackage,
  enginesDirectory: string | undefined,
): string[] {
  const own = createRequire(import.meta.url).resolve.paths(name) ?? []
  return enginesDirectory === undefined ? own : [...own, join(enginesDirectory, engine, 'node_modules')]
}

async function versionIn(directory: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(directory, 'package.json'), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return undefined
  }
}

/** What an engine's `detect` says of its package. */
export function availabilityOf(found: FoundPackage | Obstacle): Availability {
  if ('reason' in found) return { available: false, ...found }
  return { available: true, version: found.version, details: { directory: found.directory } }
}

/** Imports a file of an installed package. @throws ModelyardError `engine_missing` */
export async function importFrom(
  wanted: WantedPackage,
  found: FoundPackage | Obstacle,
  pathOf: (found: FoundPackage) => string,
): Promise<unknown> {
  if ('reason' in found) throw missingPackage(wanted, `${found.reason} ${found.remedy}`)
  try {
    return await import(pathToFileURL(pathOf(found)).href)
  } catch (cause) {
    const { message } = cause as Error
    throw missingPackage(wanted, `${wanted.package} ${found.version} cannot be imported: ${message}`, cause)
  }
}

export function missingPackage({ engine }: WantedPackage, message: string, cause?: unknown): ModelyardError {
  return new ModelyardError('engine_missing', message, { details: { engine }, cause })
}
