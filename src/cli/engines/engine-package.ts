import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'

/** An engine that comes as a package of the user's own package manager, outside of our dependencies: it is large. */
export interface EnginePackage {
  name: string
  version: string
  /** The package with the binaries for this platform (CPU, and Metal on Apple silicon). */
  platformPackage: string
}

const NODE_LLAMA_CPP = 'node-llama-cpp'
const NODE_LLAMA_CPP_VERSION = '3.21.1'

const PLATFORM_PACKAGES: Record<string, string> = {
  'linux-x64': '@node-llama-cpp/linux-x64',
  'linux-arm64': '@node-llama-cpp/linux-arm64',
  'darwin-arm64': '@node-llama-cpp/mac-arm64-metal',
  'darwin-x64': '@node-llama-cpp/mac-x64',
  'win32-x64': '@node-llama-cpp/win-x64',
}

/** Engines that `engines install` knows. */
export const INSTALLABLE_ENGINES: readonly string[] = [NODE_LLAMA_CPP]

/** @throws ModelyardError `invalid_request` for an unknown name, `unsupported` where there are no binaries for this platform */
export function enginePackage(
  name: string,
  platform: string = process.platform,
  architecture: string = process.arch,
): EnginePackage {
  if (!INSTALLABLE_ENGINES.includes(name)) {
    const known = INSTALLABLE_ENGINES.join(', ')
    throw new ModelyardError(
      'invalid_request',
      `"${name}" is no engine that can be installed. There is: ${known}.`,
    )
  }
  const platformPackage = PLATFORM_PACKAGES[`${platform}-${architecture}`]
  if (platformPackage === undefined) {
    throw new ModelyardError(
      'unsupported',
      `${name} has no ready-made binaries for ${platform} on ${architecture}; there are some for ${Object.keys(PLATFORM_PACKAGES).join(', ')}.`,
    )
  }
  return { name, version: NODE_LLAMA_CPP_VERSION, platformPackage }
}

/** The folder in which an engine's `node_modules` lie. */
export function engineFolder(enginesFolder: string, engine: string): string {
  return join(enginesFolder, engine)
}

/** Version of the engine among the installed ones, its platform's binaries included; undefined when anything of it is missing. */
export function installedVersion(enginesFolder: string, engine: EnginePackage): string | undefined {
  return versionIn(engineFolder(enginesFolder, engine.name), engine)
}

/** The same for one folder, wherever it is. */
export function versionIn(folder: string, engine: EnginePackage): string | undefined {
  const [version, platformVersion] = [engine.name, engine.platformPackage].map((name) =>
    manifestVersion(join(folder, 'node_modules', name)),
  )
  return version === platformVersion ? version : undefined
}

function manifestVersion(folder: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
  } catch {
    return undefined
  }
}
