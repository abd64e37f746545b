import type { LoadedModel, LoadOptions, LoadPlan } from '../engine.ts'
import { loadFailure, throwIfGivenUp } from './load-failure.ts'
import { ModelLifetime } from './model-lifetime.ts'
import { PackageEngine } from './package-engine.ts'
import { QueuedModel, type WholeInputWork } from './queued-model.ts'

/** An engine whose models take one input at a time: its package is imported, a model loaded with it and put behind a queue. */
export abstract class QueuedEngine<Package> extends PackageEngine {
  override async prepare(): Promise<void> {
    await this.importPackage()
  }

  /** What was loaded for a load that is given up goes again. */
  override async load(plan: LoadPlan, { signal, onProgress }: LoadOptions): Promise<LoadedModel> {
    throwIfGivenUp(signal)
    onProgress({ stage: 'starting' })
    const imported = await this.importPackage()
    throwIfGivenUp(signal)
    onProgress({ stage: 'loading', fraction: 0 })
    const work = await this.loadWork(plan, imported).catch((error: unknown) => {
      throw loadFailure(plan, error)
    })
    if (signal.aborted) await work.dispose()
    throwIfGivenUp(signal)
    return new QueuedModel({ plan, work, lifetime: new ModelLifetime(plan.model, this.clock, () => []) })
  }

  /** @throws ModelyardError `engine_missing` */
  protected abstract importPackage(): Promise<Package>
  protected abstract loadWork(plan: LoadPlan, imported: Package): Promise<WholeInputWork>
}
