import { ModelyardError } from '../base/errors.ts'
import type { Availability, Engine } from '../engines/engine.ts'
import type { FileFormat } from '../models/model-facts.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import { engineOfFormat } from './engine-of-format.ts'

/**
 * Before a model is fetched: whether what will run it is here. An engine that cannot be told yet, is not known or does not say is left to the load.
 * @throws ModelyardError `engine_missing` with what to do
 */
export async function requireEngine(
  engines: ReadonlyMap<string, Engine>,
  spec: ModelSpec,
  format: FileFormat | undefined,
): Promise<void> {
  const name = spec.engine ?? (format && engineOfFormat({ format }))
  const engine = name === undefined ? undefined : engines.get(name)
  const found: Availability | undefined = await engine?.detect(spec).catch(() => undefined)
  if (engine === undefined || found?.available !== false) return
  throw new ModelyardError(
    'engine_missing',
    `Model "${spec.id}" is not fetched: its engine ${engine.name} is not here. ${found.reason} ${found.remedy}`,
    { details: { engine: engine.name } },
  )
}
