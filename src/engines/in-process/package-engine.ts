import { SystemClock, type Clock } from '../../base/clock.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type {
  Availability,
  Engine,
  EngineCapabilities,
  HostFacts,
  LoadedModel,
  LoadOptions,
  LoadPlan,
} from '../engine.ts'
import { availabilityOf, type FoundPackage, type Obstacle } from './engine-package.ts'

export interface PackageEngineOptions {
  /** Folder of installed engines; `<it>/<engine>/node_modules` is looked into after the application's own packages. */
  enginesDirectory?: string
  /** Default: the system's clock. */
  clock?: Clock
}

/** An engine that is an optional package: it is looked for without being imported, and imported with the first load. */
export abstract class PackageEngine implements Engine {
  abstract readonly name: string
  abstract readonly capabilities: EngineCapabilities
  protected readonly enginesDirectory: string | undefined
  protected readonly clock: Clock

  constructor({ enginesDirectory, clock = new SystemClock() }: PackageEngineOptions = {}) {
    this.enginesDirectory = enginesDirectory
    this.clock = clock
  }

  /** Looks at files only; nothing native comes into the server's process. */
  async detect(): Promise<Availability> {
    return availabilityOf(await this.findPackage())
  }

  protected abstract findPackage(): Promise<FoundPackage | Obstacle>
  abstract prepare(): Promise<void>
  abstract plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan
  abstract load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel>
}
