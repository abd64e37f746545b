import type { StopSignal } from '../base/cancellation.ts'
import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import { SharedWork } from '../base/shared-work.ts'
import type { Engine, HostFacts, LoadPlan } from '../engines/engine.ts'
import type { ModelFacts } from '../models/model-facts.ts'
import type { ModelSpec } from '../models/model-spec.ts'
import type { PoolModel } from '../pool/pool-model.ts'
import { engineOfFormat } from './engine-of-format.ts'
import { covers, NO_WISH, offerOf, planFor, togetherOf, type LoadWish, type PlanSource } from './load-wish.ts'
import type { PreparedModel } from './prepared-model.ts'
import { WishBook } from './wish-book.ts'

/** What the preparer needs of the rest of the yard. */
export interface PreparerSurroundings {
  /** By id, alias or catalog name. @throws ModelyardError `model_not_found` with the nearest names */
  resolve(name: string): ModelSpec
  /** The model's file on disk, fetched when it is remote; undefined for engines without weights. */
  artifact(spec: ModelSpec, signal: AbortSignal): Promise<string | undefined>
  /** Looks at the file again whenever it changed (BR-26). */
  inspect(path: string): Promise<ModelFacts>
  engines: ReadonlyMap<string, Engine>
  host(): HostFacts
  /** Whether a copy of the model is in memory or on its way: then its files need not be looked at. */
  isResident(model: string): boolean
  declare(model: PoolModel): void
  /** Why a model of this plan could not be loaded whoever went for it; undefined = it could. */
  refusalOf(model: PoolModel, force: boolean): ModelyardError | undefined
}

/** What a load is to be beside the configuration. */
export interface PrepareOptions {
  wish?: LoadWish
  /** It may go beyond the budget, up to the absolute limit (M5). */
  force?: boolean
}

interface Prepared extends PreparedModel {
  spec: ModelSpec
  plan: LoadPlan
  /** More has become known than the plan says. */
  outdated?: boolean
  /** What it was prepared for. */
  wish: LoadWish
}

type UsedModels = Pick<PoolModel, 'uses'>

/** Facts of a model without files. */
const NO_FILES: ModelFacts = { format: 'none', fileSize: 0, contentId: '', purpose: 'generation' }

/**
 * Takes a model from its name to a plan the pool knows: resolve, fetch, inspect, plan, declare. Once for many who ask at the same time;
 * done again only when nothing of the model is in memory (so that a replaced file is seen) or its configuration changed.
 */
export class ModelPreparer {
  readonly #surroundings: PreparerSurroundings
  readonly #prepared = new Map<string, Prepared>()
  readonly #work = new SharedWork<Prepared>()
  /** What was wished of models beyond their configuration. */
  readonly wishes: WishBook = new WishBook()

  constructor(surroundings: PreparerSurroundings) {
    this.#surroundings = surroundings
  }

  /**
   * Synchronous when a copy is in memory: the common case costs a look-up. A wish that the copy is too small for has the model declared
   * anew: the old copy serves its runs and goes (M3). @throws ModelyardError `invalid_request`, `model_too_large` for wishes that cannot be
   */
  prepare(
    name: string,
    signal: StopSignal,
    options: PrepareOptions = {},
  ): PreparedModel | Promise<PreparedModel> {
    const { wish = NO_WISH } = options
    const spec = this.#surroundings.resolve(name)
    const known = this.#prepared.get(spec.id)
    const holds =
      known !== undefined &&
      known.spec === spec &&
      known.outdated !== true &&
      (covers(known.wish, wish) || covers(offerOf(known.plan), wish))
    if (holds && this.#surroundings.isResident(spec.id)) return known
    return this.#work.join(workKey(spec.id, wish), signal, async (workSignal) =>
      this.#prepareAnew(spec, workSignal, options),
    )
  }

  /** @throws ModelyardError `model_not_found` with the nearest names */
  resolve(name: string): ModelSpec {
    return this.#surroundings.resolve(name)
  }

  /** What a model's files are, by the engine it names where only that can tell. @throws ModelyardError `model_file_invalid`, `model_not_found` */
  async inspect(spec: ModelSpec, path: string): Promise<ModelFacts> {
    const engine = this.#surroundings.engines.get(spec.engine ?? '')
    return await (engine?.inspectFiles?.(spec, path) ?? this.#surroundings.inspect(path))
  }

  /** The plan a load would follow now, without loading anything. */
  async plan(name: string, signal?: AbortSignal): Promise<LoadPlan> {
    await this.prepare(name, signal ?? new AbortController().signal)
    const { id } = this.#surroundings.resolve(name)
    const prepared = this.#prepared.get(id)
    if (prepared === undefined) throw new ModelyardError('internal', `"${id}" was prepared and is gone.`)
    return prepared.plan
  }

  /** What is known of a model without looking at its files again. */
  peek(id: string): { capabilities: PreparedModel['capabilities']; plan: LoadPlan } | undefined {
    return this.#prepared.get(id)
  }

  /** Its configuration changed or is gone: the next request prepares it anew. */
  forget(id: string): void {
    this.#prepared.delete(id)
  }

  /** More is known of it than its plan says: the next request plans it anew, what is in memory stays. */
  outdate(id: string): void {
    const known = this.#prepared.get(id)
    if (known !== undefined) this.#prepared.set(id, { ...known, outdated: true })
  }

  /** `above`: the models that use this one, outermost first. */
  async #prepareAnew(
    spec: ModelSpec,
    signal: AbortSignal,
    options: PrepareOptions = {},
    above: readonly string[] = [],
  ): Promise<Prepared> {
    const path = await this.#surroundings.artifact(spec, signal)
    const facts =
      path === undefined ? await this.#factsElsewhere(spec, signal) : await this.inspect(spec, path)
    const engine = this.#engineFor(spec, facts)
    const host = this.#surroundings.host()
    const usual = engine.plan(spec, facts, host)
    const uses = await this.#prepareParts(usual, signal, [...above, spec.id])
    const { model, wish } = this.#describe({ engine, spec, facts, host, usual }, uses, options)
    this.#surroundings.declare(model)
    if (wish !== NO_WISH) this.wishes.keep(spec.id, wish)
    const prepared = { id: spec.id, capabilities: model.plan.capabilities, spec, plan: model.plan, wish }
    this.#prepared.set(spec.id, prepared)
    return prepared
  }

  /** With what others wished before, as far as that can still be. */
  #describe(
    source: PlanSource,
    uses: UsedModels,
    { wish = NO_WISH, force = false }: PrepareOptions,
  ): { model: PoolModel; wish: LoadWish } {
    const kept = this.wishes.of(source.spec.id)
    if (kept === undefined) return this.#describeFor(source, uses, wish, force)
    try {
      return this.#describeFor(source, uses, togetherOf(kept, wish), force)
    } catch {
      return this.#describeFor(source, uses, wish, force)
    }
  }

  #describeFor(
    source: PlanSource,
    uses: UsedModels,
    wish: LoadWish,
    force: boolean,
  ): { model: PoolModel; wish: LoadWish } {
    const model = poolModelOf(source.spec, planFor(source, wish), uses)
    // Before the copy that is there is given up for one that never fits (R6).
    const refusal = wish === NO_WISH ? undefined : this.#surroundings.refusalOf(model, force)
    if (refusal !== undefined) throw refusal
    return { model, wish }
  }

  /**
   * P14: what a model uses is known before the model is, so that they are planned together. Not joined with others who prepare the same:
   * two models that used each other would wait for one another.
   */
  async #prepareParts(
    { uses }: LoadPlan,
    signal: AbortSignal,
    above: readonly string[],
  ): Promise<UsedModels> {
    if (uses === undefined) return {}
    const parts = uses.map((name) => this.#surroundings.resolve(name))
    const again = parts.find(({ id }) => above.includes(id))
    if (again !== undefined) throw usesItself([...above, again.id])
    for (const part of parts) await this.#prepareAnew(part, signal, {}, above)
    return { uses: parts.map(({ id }) => id) }
  }

  /** Of a model without files here: what its engine can find out about it. */
  async #factsElsewhere(spec: ModelSpec, signal: AbortSignal): Promise<ModelFacts> {
    const engine = this.#surroundings.engines.get(spec.engine ?? '')
    return (await engine?.inspect?.(spec, signal)) ?? NO_FILES
  }

  #engineFor(spec: ModelSpec, facts: ModelFacts): Engine {
    const { engines } = this.#surroundings
    const name = spec.engine ?? engineOfFormat(facts)
    const engine = name === undefined ? undefined : engines.get(name)
    if (engine !== undefined) return engine
    const known = [...engines.keys()]
    const nearest = nearestNames(name ?? '', known)
    const hint = nearest.length > 0 ? `Did you mean "${nearest[0]}"?` : `Known engines: ${known.join(', ')}.`
    throw new ModelyardError(
      'config_invalid',
      `The model "${spec.id}" names no engine that is known here (${name ?? 'none'}). ${hint}`,
    )
  }
}

function workKey(id: string, { context = 0, slots = 0 }: LoadWish): string {
  return `${id} ${context} ${slots}`
}

function poolModelOf(spec: ModelSpec, plan: LoadPlan, uses: UsedModels): PoolModel {
  const { id, minInstances, maxInstances, keepAlive, pinned, parking = true, contextBudget } = spec
  const quota = contextBudget === undefined ? {} : { contextBudget }
  return { id, plan, minInstances, maxInstances, keepAlive, pinned, parking, ...quota, ...uses }
}

function usesItself(chain: readonly string[]): ModelyardError {
  const path = chain.map((id) => `"${id}"`).join(' uses ')
  return new ModelyardError(
    'config_invalid',
    `${path}: a model cannot use itself, not even by way of others.`,
  )
}
