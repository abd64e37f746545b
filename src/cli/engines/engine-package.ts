import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { PACKAGED_ENGINES, type EngineWheel, type PackagedEngine, type Platform } from './packaged-engines.ts'

/** An engine that comes as packages of the user's own package manager, outside of our dependencies: it is large. */
export interface EnginePackage {
  name: string
  /** Of its main package. */
  version: string
  /** Exact versions by name, the main package first, with the binaries for this platform: all that must be there. */
  packages: Readonly<Record<string, string>>
  /** For people: `about 90 MB`. */
  size: string
  /** Bytes of disk that an installation needs at its height. */
  diskBytes: number
  wheel?: EngineWheel
  /** What the packages bring for other platforms or none, relative to `node_modules`: deleted after the installation. */
  needless: readonly string[]
}

/** @throws ModelyardError `invalid_request` for an unknown name, `unsupported` where there are no binaries for this platform */
export function enginePackage(
  name: string,
  platform: string = process.platform,
  architecture: string = process.arch,
): EnginePackage {
  const engine = Object.hasOwn(PACKAGED_ENGINES, name) ? PACKAGED_ENGINES[name] : undefined
  if (engine === undefined) {
    throw new ModelyardError('invalid_request', `"${name}" is no engine that npm installs.`)
  }
  const { main, size, diskBytes, wheel, others = {}, needless = () => [] } = engine
  const here = `${platform}-${architecture}` as Platform
  const binaries = engine.binaries[here]
  if (binaries === undefined) throw noBinaries(name, platform, architecture, engine)
  return {
    name,
    version: main.version,
    packages: { [main.package]: main.version, ...binaries, ...others },
    size,
    diskBytes,
    ...(wheel !== undefined && { wheel }),
    needless: needless(here),
  }
}

function noBinaries(
  name: string,
  platform: string,
  architecture: string,
  { binaries }: PackagedEngine,
): ModelyardError {
  const known = Object.keys(binaries).join(', ')
  return new ModelyardError(
    'unsupported',
    `${name} has no ready-made binaries for ${platform} on ${architecture}; there are some for ${known}.`,
  )
}

/** The folder in which an engine's `node_modules` lie. */
export function engineFolder(enginesFolder: string, engine: string): string {
  return join(enginesFolder, engine)
}

/** Version of the engine among the installed ones, its platform's binaries included; undefined when anything of it is missing. */
export function installedVersion(enginesFolder: string, engine: EnginePackage): string | undefined {
  return versionIn(engineFolder(enginesFolder, engine.name), engine)
}

/** The same for one folder, wherever it is. An older main package is told as what it is; one with the wrong companions is not there. */
export function versionIn(folder: string, { packages, version, wheel }: EnginePackage): string | undefined {
  if (wheel !== undefined && !existsSync(join(folder, 'python', wheel.folder))) return undefined
  const wanted = Object.entries(packages)
  const found = wanted.map(([name]) => manifestVersion(join(folder, 'node_modules', name)))
  if (found.includes(undefined)) return undefined
  const [main] = found
  if (main !== version) return main
  return wanted.every(([, exact], index) => found[index] === exact) ? version : undefined
}

function manifestVersion(folder: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
  } catch {
    return undefined
  }
}
