import type { Clock } from '../../base/clock.ts'
import type { LoadedModel, LoadOptions, LoadPlan } from '../engine.ts'
import { loadFailure, throwIfGivenUp } from './load-failure.ts'
import { ModelLifetime } from './model-lifetime.ts'
import { QueuedModel, type WholeInputWork } from './queued-model.ts'

export interface QueuedLoad<Package> {
  clock: Clock
  /** @throws ModelyardError `engine_missing` */
  importPackage: () => Promise<Package>
  loadWork: (imported: Package) => Promise<WholeInputWork>
}

/** Imports an engine's package, loads a model with it and puts it behind a queue. What was loaded for a load that is given up goes again. */
export async function loadQueued<Package>(
  plan: LoadPlan,
  { signal, onProgress }: LoadOptions,
  { clock, importPackage, loadWork }: QueuedLoad<Package>,
): Promise<LoadedModel> {
  throwIfGivenUp(signal)
  onProgress({ stage: 'starting' })
  const imported = await importPackage()
  throwIfGivenUp(signal)
  onProgress({ stage: 'loading', fraction: 0 })
  const work = await loadWork(imported).catch((error: unknown) => {
    throw loadFailure(plan, error)
  })
  if (signal.aborted) await work.dispose()
  throwIfGivenUp(signal)
  return new QueuedModel({ plan, work, lifetime: new ModelLifetime(plan.model, clock, () => []) })
}
