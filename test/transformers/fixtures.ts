import { SystemClock } from '../../src/base/clock.ts'
import type { Engine, LoadPlan } from '../../src/engines/engine.ts'
import { TransformersEngine } from '../../src/engines/transformers/transformers-engine.ts'
import { WorkerEngine } from '../../src/engines/worker/worker-engine.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { ENGINES_DIRECTORY, fetched, MODELS_DIRECTORY } from '../models/paths.ts'
import { HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { workerEntry } from '../worker/worker-fixtures.ts'

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

export function inWorker(inner: Engine): WorkerEngine {
  const engineOptions = { enginesDirectory: ENGINES_DIRECTORY }
  return new WorkerEngine({ engine: inner.name, inner, clock, entry: workerEntry(), engineOptions })
}

/** The plan of a model in a folder. */
export async function planOf(engine: Engine, path: string, spec: Partial<ModelSpec> = {}): Promise<LoadPlan> {
  return engine.plan(specOf({ engine: engine.name, ...spec }), await new ModelInspector().inspect(path), HOST)
}
