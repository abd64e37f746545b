import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { mlxPackage } from '../../src/cli/engines/mlx-package.ts'
import type { LoadedModel, LoadPlan } from '../../src/engines/engine.ts'
import { MlxEngine } from '../../src/engines/mlx/mlx-engine.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import type { Message } from '../../src/tasks/message.ts'
import { HOST, NEVER, specOf } from '../node-llama-cpp/fixtures.ts'
import { writeTinyVision } from '../models/tiny-vision.ts'

/** An environment with mlx_vlm, made by the product's own command where there is none: 470 MB, two minutes. */
export const VISION_ENGINES: string =
  process.env['MODELYARD_VISION_ENGINES'] ??
  join(resolve(import.meta.dirname, '../..'), '.cache/vision/engines')

const folder = await mkdtemp(join(tmpdir(), 'modelyard-vision-'))
export const RECORDS: string = join(folder, 'records')
/** tiny-chat with eyes. */
export const TINY_VISION: string = await writeTinyVision(join(folder, 'tiny-vision'))

export const engine: MlxEngine = new MlxEngine({
  enginesDirectory: VISION_ENGINES,
  recordsDirectory: RECORDS,
})

/** Why there is none, where it could not be installed. */
export const MISSING: string | undefined = await installed()

async function installed(): Promise<string | undefined> {
  const mlx = mlxPackage()
  if ((await mlx.vision?.installed(VISION_ENGINES)) === mlx.vision?.version) return undefined
  try {
    await mlx.install(VISION_ENGINES, { signal: NEVER, vision: true })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

export async function planOf(
  path: string = TINY_VISION,
  changes: Partial<ModelSpec> = {},
): Promise<LoadPlan> {
  const facts = await new ModelInspector().inspect(path)
  return engine.plan(specOf({ engine: 'mlx', context: 2048, slots: 2, ...changes }), facts, HOST)
}

export async function load(plan?: LoadPlan): Promise<LoadedModel> {
  return await engine.load(plan ?? (await planOf()), { signal: NEVER, onProgress: () => undefined })
}

/** A user's message of images and texts. */
export function seen(...parts: readonly (Uint8Array | string)[]): Message {
  return {
    role: 'user',
    content: parts.map((part) =>
      typeof part === 'string'
        ? { type: 'text', text: part }
        : { type: 'image', mediaType: 'image/png', data: part },
    ),
  }
}

export async function removeFolder(): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}
