import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadedModel, LoadPlan } from '../../src/engines/engine.ts'
import { MlxEngine } from '../../src/engines/mlx/mlx-engine.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { ENGINES_DIRECTORY, TINY_CHAT_FOLDER } from '../models/paths.ts'
import { HOST, NEVER, specOf } from '../node-llama-cpp/fixtures.ts'

export const RECORDS: string = await mkdtemp(join(tmpdir(), 'modelyard-mlx-records-'))

export const engine: MlxEngine = new MlxEngine({
  enginesDirectory: ENGINES_DIRECTORY,
  recordsDirectory: RECORDS,
})

/** Whether it can be used here: `npm test` installs it where it can. */
export const HAS_MLX: boolean = (await engine.detect()).available

export async function planOf(
  folder: string = TINY_CHAT_FOLDER,
  changes: Partial<ModelSpec> = {},
): Promise<LoadPlan> {
  const facts = await new ModelInspector().inspect(folder)
  return engine.plan(specOf({ engine: 'mlx', context: 2048, slots: 2, ...changes }), facts, HOST)
}

export async function load(plan?: LoadPlan, signal: AbortSignal = NEVER): Promise<LoadedModel> {
  return await engine.load(plan ?? (await planOf()), { signal, onProgress: () => undefined })
}

export async function removeRecords(): Promise<void> {
  await rm(RECORDS, { recursive: true, force: true })
}
