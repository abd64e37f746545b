import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import {
  findPackage,
  missingPackage,
  type FoundPackage,
  type Obstacle,
  type WantedPackage,
} from '../in-process/engine-package.ts'
import type { SherpaModule } from './speech-module.ts'

const WANTED: WantedPackage = {
  engine: 'speech',
  package: 'sherpa-onnx-node',
  versions: /^1\.13\./,
  wanted: '1.13',
}

export async function findSherpa(enginesDirectory: string | undefined): Promise<FoundPackage | Obstacle> {
  return findPackage(WANTED, enginesDirectory)
}

/** The package, its `node_modules`, and where the pronunciation of languages lies. */
export interface ImportedSherpa {
  module: SherpaModule
  modules: string
  pronunciation: string
}

/** @throws ModelyardError `engine_missing` */
export async function importSherpa(enginesDirectory: string | undefined): Promise<ImportedSherpa> {
  const found = await findSherpa(enginesDirectory)
  if ('reason' in found) throw missingPackage(WANTED, `${found.reason} ${found.remedy}`)
  const { modules, directory, version } = found
  try {
    // It is no ES module: its addon is looked for beside it.
    const module = createRequire(join(directory, 'package.json'))(directory) as SherpaModule
    return { module, modules, pronunciation: join(dirname(modules), 'python/espeakng_loader/espeak-ng-data') }
  } catch (cause) {
    throw missingPackage(
      WANTED,
      `${WANTED.package} ${version} cannot be loaded: ${(cause as Error).message}`,
      cause,
    )
  }
}
