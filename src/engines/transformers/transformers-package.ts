import { join } from 'node:path'
import {
  findPackage,
  importFrom,
  type FoundPackage,
  type Obstacle,
  type WantedPackage,
} from '../in-process/engine-package.ts'
import type { TransformersModule } from './transformers-module.ts'

const WANTED: WantedPackage = {
  engine: 'transformers',
  package: '@huggingface/transformers',
  versions: /^4\./,
  wanted: '4.3',
}

export async function findTransformers(
  enginesDirectory: string | undefined,
): Promise<FoundPackage | Obstacle> {
  return findPackage(WANTED, enginesDirectory)
}

/** The package, and the `node_modules` it was found in. */
export interface ImportedTransformers {
  module: TransformersModule
  modules: string
}

/** Told never to ask a hub: what it loads lies on this disk. @throws `engine_missing` */
export async function importTransformers(
  enginesDirectory: string | undefined,
): Promise<ImportedTransformers> {
  const found = await findTransformers(enginesDirectory)
  const module = (await importFrom(WANTED, found, ({ directory }) =>
    join(directory, 'dist/transformers.node.mjs'),
  )) as TransformersModule
  Object.assign(module.env, { allowRemoteModels: false, useFSCache: false, useBrowserCache: false })
  return { module, modules: 'modules' in found ? found.modules : '' }
}
