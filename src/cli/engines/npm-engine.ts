import { rm } from 'node:fs/promises'
import { engineFolder, enginePackage, installedVersion } from './engine-package.ts'
import { installEngine } from './install-engine.ts'
import type { InstallableEngine } from './installable-engine.ts'

/** An engine that npm installs. @throws ModelyardError `unsupported` where there are no binaries for this platform */
export function npmEngine(name: string, platform?: string, architecture?: string): InstallableEngine {
  const engine = enginePackage(name, platform, architecture)
  let fetched = 0
  return {
    name,
    version: engine.version,
    size: engine.size,
    diskBytes: engine.diskBytes,
    installed: async (enginesFolder) => installedVersion(enginesFolder, engine),
    suits: (version) => version === engine.version,
    install: async (enginesFolder, wishes) => {
      await installEngine(enginesFolder, engine, wishes)
      return engine.version
    },
    remove: async (enginesFolder) => {
      const present = installedVersion(enginesFolder, engine) !== undefined
      await rm(engineFolder(enginesFolder, engine.name), { recursive: true, force: true })
      return present
    },
    counts: (line) => (line.includes('http fetch') ? `${++fetched} packages asked for` : undefined),
  }
}
