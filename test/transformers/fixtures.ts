import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SystemClock } from '../../src/base/clock.ts'
import type { WorkerDeadlines } from '../../src/engines/supervision/worker-deadlines.ts'
import type { Engine, LoadPlan } from '../../src/engines/engine.ts'
import { TransformersEngine } from '../../src/engines/transformers/transformers-engine.ts'
import type { WorkerEngine } from '../../src/engines/worker/worker-engine.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import type { YardOptions } from '../../src/yard-options.ts'
import {
  ENGINES_DIRECTORY,
  fetched,
  MODELS_DIRECTORY,
  removeFolder,
  temporaryFolder,
} from '../models/paths.ts'
import { HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { createWorkerEngine } from '../worker/worker-fixtures.ts'

const clock = new SystemClock()

/** Folder of a model of the catalog that `npm test` fetched; undefined when it is not there. */
export async function pulled(name: string): Promise<string | undefined> {
  return new ArtifactStore({ folder: MODELS_DIRECTORY, clock }).locate(name)
}

/** Whether `npm test` installed the engine. */
export const HAS_TRANSFORMERS: boolean = fetched(`${ENGINES_DIRECTORY}/transformers`)

export function transformersEngine(): TransformersEngine {
  return new TransformersEngine({ enginesDirectory: ENGINES_DIRECTORY })
}

export function inWorker(inner: Engine, deadlines: Partial<WorkerDeadlines> = {}): WorkerEngine {
  const engineOptions = { enginesDirectory: ENGINES_DIRECTORY }
  return createWorkerEngine({ engine: inner.name, inner, engineOptions, deadlines })
}

/** The plan of a model in a folder. */
export async function planOf(engine: Engine, path: string, spec: Partial<ModelSpec> = {}): Promise<LoadPlan> {
  return engine.plan(specOf({ engine: engine.name, ...spec }), await new ModelInspector().inspect(path), HOST)
}

/** A yard that listens, in a home of its own with the installed engines. */
export interface ListeningYard {
  yard: Yard
  url: string
  close: () => Promise<void>
}

/** @param models what it has, given the folder of its home to write their files into */
export async function listeningYard(
  models: (folder: string) => NonNullable<YardOptions['models']>,
): Promise<ListeningYard> {
  const folder = await temporaryFolder()
  await mkdir(folder, { recursive: true })
  await symlink(ENGINES_DIRECTORY, join(folder, 'engines'))
  const yard = await createYard({ home: folder, models: models(folder) })
  const { url } = await yard.listen({ host: '127.0.0.1', port: 0 })
  const close = async (): Promise<void> => {
    await yard.stop({ deadline: 0 })
    await removeFolder(folder)
  }
  return { yard, url, close }
}
