import type { LoadedModel } from '../../src/engines/engine.ts'
import type { UpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts'
import type { ModelFacts } from '../../src/models/model-facts.ts'
import { NEVER, specOf } from '../node-llama-cpp/fixtures.ts'

/** What is known of a model whose endpoint was not asked yet. */
export const FACTS: ModelFacts = { format: 'none', fileSize: 0, contentId: 'none', purpose: 'generation' }

/** Loads a model "far" of an endpoint as often as a test wants. */
export class FarModels {
  readonly #engine: UpstreamEngine
  readonly #loaded: LoadedModel[] = []

  constructor(engine: UpstreamEngine) {
    this.#engine = engine
  }

  async load(engineOptions: Record<string, unknown>): Promise<LoadedModel> {
    const spec = specOf({ id: 'far', engineOptions: { remoteModel: 'remote', ...engineOptions } })
    const plan = this.#engine.plan(spec, FACTS)
    const model = await this.#engine.load(plan, { signal: NEVER, onProgress: () => undefined })
    this.#loaded.push(model)
    return model
  }

  async unload(): Promise<void> {
    await Promise.all(this.#loaded.splice(0).map((model) => model.unload()))
  }
}
