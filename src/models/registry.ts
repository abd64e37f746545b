import { isDeepStrictEqual } from 'node:util'
import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import type { ArtifactStore, EnsureOptions } from './artifact-store.ts'
import { idsOfFoundModels } from './discovery/model-id.ts'
import { scanModelsFolder } from './discovery/scan-models-folder.ts'
import { findModelPlaces, type ModelPlace } from './model-places.ts'
import { isCalled, type ModelSpec } from './model-spec.ts'
import type { ServedModels } from './served-models.ts'
import { sourceForEngine } from './source-for-engine.ts'

export interface ModelRegistryOptions {
  /** Models of the configuration, in its order. */
  specs: readonly ModelSpec[]
  artifacts: ArtifactStore
  /** What a model has that only its name and its source are known of. */
  defaultSpec: (id: string, source: string) => ModelSpec
  /** Id of the model that a name given to it elsewhere (a recipe) stands for. */
  otherNames?: (name: string) => string | undefined
  /** Models that endpoints list. Default: none. */
  served?: Pick<ServedModels, 'find' | 'specs' | 'problemOf'>
}

const NONE_SERVED: NonNullable<ModelRegistryOptions['served']> = {
  find: () => undefined,
  specs: () => [],
  problemOf: () => undefined,
}

/** Ids of models that another configuration changed. */
export interface RegistryDifference {
  added: string[]
  removed: string[]
  changed: string[]
}

/** What removing a model's files means (S6). */
export interface Removal {
  path: string
  /** Bytes that come free; 0 when another model keeps the files. */
  bytes: number
  /** Ids of other models with the same files: then nothing is deleted. */
  keptFor: string[]
}

/**
 * What exists: models of the configuration, models of the catalog whose files are here, and what lies in the models folder, fetched
 * or put there by hand. A name that is none of them never makes anybody reach for the internet.
 */
export class ModelRegistry {
  readonly #artifacts: ArtifactStore
  readonly #defaultSpec: ModelRegistryOptions['defaultSpec']
  readonly #otherNames: NonNullable<ModelRegistryOptions['otherNames']>
  readonly #served: NonNullable<ModelRegistryOptions['served']>
  #configured = new Map<string, ModelSpec>()
  #found = new Map<string, ModelSpec>()
  #places = new Map<string, ModelPlace>()
  #folderProblems: readonly string[] = []

  constructor({
    specs,
    artifacts,
    defaultSpec,
    otherNames = () => undefined,
    served = NONE_SERVED,
  }: ModelRegistryOptions) {
    this.#artifacts = artifacts
    this.#defaultSpec = defaultSpec
    this.#otherNames = otherNames
    this.#served = served
    this.replace(specs)
  }

  /** Another configuration. Models that are described as before keep their spec's identity. */
  replace(specs: readonly ModelSpec[]): RegistryDifference {
    const before = this.#configured
    const now = new Map(specs.map((spec) => [spec.id, kept(this.#withCatalog(spec), before)]))
    this.#configured = now
    for (const id of now.keys()) this.#found.delete(id)
    return {
      added: [...now.keys()].filter((id) => !before.has(id)),
      removed: [...before.keys()].filter((id) => !now.has(id)),
      changed: [...now].filter(([id, spec]) => before.has(id) && before.get(id) !== spec).map(([id]) => id),
    }
  }

  /** Looks again which files are there: at start, and after a model was fetched, removed or put into the folder. */
  async refresh(): Promise<void> {
    const { models, problems: folderProblems } = await scanModelsFolder(this.#artifacts.folder)
    const catalog = await this.#placesOfCatalog()
    const taken = new Set([...catalog.values(), ...(await this.#placesOfConfigured())])
    const others = models.filter(({ path }) => !taken.has(path))
    const lying = [...idsOfFoundModels(others)]
    const specs = [
      ...[...catalog.keys()].map((name) => this.#withCatalog(this.#defaultSpec(name, name))),
      ...lying.map(([{ path }, id]) => this.#defaultSpec(id, path)),
    ]
    const broken = lying.flatMap(([{ problem }, id]) => (problem === undefined ? [] : [{ id, problem }]))
    const places = await this.#lookUp(specs, broken)
    // Specs that did not change keep their identity: that is how others see that nothing is to be done.
    const entries = specs.map((spec): [string, ModelSpec] => [spec.id, kept(spec, this.#found)])
    this.#found = new Map(entries.filter(([id]) => !this.#configured.has(id)))
    this.#places = places
    this.#folderProblems = folderProblems
  }

  async #lookUp(
    found: readonly ModelSpec[],
    broken: readonly { id: string; problem: string }[],
  ): Promise<Map<string, ModelPlace>> {
    const others = found.filter(({ id }) => !this.#configured.has(id))
    const places = await findModelPlaces([...this.#configured.values(), ...others], this.#artifacts)
    for (const { id, problem: reason } of broken) {
      const remedy = `Fetch it again, or delete it: modelyard rm ${id}.`
      places.set(id, { ...places.get(id), missing: { reason, remedy } })
    }
    return places
  }

  /**
   * By id, alias, or the last part of a found model's id where only one has it; `name` and `name:latest` are one where there is not the
   * other. @throws ModelyardError `model_not_found` with the nearest names and what to do
   */
  resolve(name: string): ModelSpec {
    const spec = this.#own(name) ?? this.#own(this.#otherNames(name) ?? '')
    if (spec === undefined) throw this.#unknown(name)
    if (spec.enabled === false) throw disabled(name, spec.id)
    return spec
  }

  /** Whether a name is that of a configured or found model itself, not one that stands for it. */
  has(name: string): boolean {
    return this.#own(name) !== undefined
  }

  #own(name: string): ModelSpec | undefined {
    const spec = this.#named(name)
    if (spec !== undefined || name === '') return spec
    for (const spelling of spellingsOf(name)) {
      const other = this.#named(spelling)
      if (other !== undefined) return other
    }
    return undefined
  }

  #named(name: string): ModelSpec | undefined {
    return (
      this.#configured.get(name) ??
      this.#byAlias(name) ??
      this.#served.find(name) ??
      this.#found.get(name) ??
      this.#byShortName(name)
    )
  }

  /** Favourites first (M20), then configured models, in their order, then those of endpoints; without those that are switched off (M17). */
  list(): ModelSpec[] {
    const served = this.#served.specs().filter(({ id }) => !this.#configured.has(id))
    const elsewhere = new Set(served.map(({ id }) => id))
    const found = [...this.#found.values()].filter(({ id }) => !elsewhere.has(id))
    const listed = [...this.#configured.values(), ...served, ...found].filter(
      ({ enabled }) => enabled !== false,
    )
    return listed.sort((a, b) => Number(b.favourite ?? false) - Number(a.favourite ?? false))
  }

  /** Why a model may not be usable, and what to do, as far as that shows without asking for it or reading its file; undefined = nothing is known. */
  problemOf(id: string): string | undefined {
    const { missing } = this.placeOf(id)
    if (missing !== undefined) return `${missing.reason} ${missing.remedy}`
    return this.#configured.has(id) ? undefined : this.#served.problemOf(id)
  }

  /** What the last look showed of a model's files: that they are missing, or those of another model, too. Nothing is read of them. */
  placeOf(id: string): ModelPlace {
    return this.#places.get(id) ?? {}
  }

  /** What is wrong in the models folder beside its models: links that lead nowhere, folders that cannot be read. */
  folderProblems(): readonly string[] {
    return this.#folderProblems
  }

  /**
   * Path of a model's file, fetched first when it is remote and not there; undefined for engines without weights.
   * @throws ModelyardError as {@link ArtifactStore.ensure}
   */
  async ensureArtifacts(spec: ModelSpec, options: EnsureOptions = {}): Promise<string | undefined> {
    return spec.source === undefined ? undefined : this.#artifacts.ensure(spec.source, options)
  }

  /** What {@link remove} would do. @throws ModelyardError `model_not_found`, `invalid_request` for files that Modelyard did not fetch */
  async planRemoval(name: string): Promise<Removal> {
    const { id, source } = this.resolve(name)
    const path = source === undefined ? undefined : await this.#artifacts.locate(source)
    if (path === undefined) {
      throw new ModelyardError('model_not_found', `"${id}" has no files here: there is nothing to remove.`)
    }
    if (!(await this.#artifacts.owns(path))) {
      const message = `${path} is your own file, not one that was fetched. Delete it yourself if you want it gone.`
      throw new ModelyardError('invalid_request', message, { details: { path } })
    }
    const keptFor = await this.#othersWith(path, id)
    return { path, keptFor, bytes: keptFor.length > 0 ? 0 : await this.#artifacts.sizeOf(path) }
  }

  /** Deletes the files of a model unless another one has the same. Its configuration stays. */
  async remove(name: string): Promise<Removal> {
    const removal = await this.planRemoval(name)
    if (removal.keptFor.length === 0) await this.#artifacts.remove(removal.path)
    await this.refresh()
    return removal
  }

  async #othersWith(path: string, id: string): Promise<string[]> {
    const others = this.list().filter((spec) => spec.id !== id && spec.source !== undefined)
    const places = await Promise.all(others.map(async ({ source = '' }) => this.#place(source)))
    return others.filter((_, index) => places[index] === path).map((spec) => spec.id)
  }

  async #place(source: string): Promise<string | undefined> {
    return this.#artifacts.locate(source).catch(() => undefined)
  }

  #byAlias(name: string): ModelSpec | undefined {
    for (const spec of this.#configured.values()) if (isCalled(spec, name)) return spec
    return undefined
  }

  #byShortName(name: string): ModelSpec | undefined {
    const [only, ...others] = [...this.#found.values()].filter(({ id }) => id.endsWith(`/${name}`))
    return others.length === 0 ? only : undefined
  }

  /** What the catalog knows of a model holds where the configuration says nothing; so does what its engine reads. */
  #withCatalog(spec: ModelSpec): ModelSpec {
    const { source } = spec
    const { catalog } = this.#artifacts
    if (source === undefined) return spec
    if (!Object.hasOwn(catalog, source)) return { ...spec, source: sourceForEngine(source, spec.engine) }
    const known = catalog[source]?.spec
    return { ...known, ...spec, defaults: { ...known?.defaults, ...spec.defaults } }
  }

  /** Names of the catalog whose files are here, and where. */
  async #placesOfCatalog(): Promise<Map<string, string>> {
    const names = Object.keys(this.#artifacts.catalog)
    const places = await Promise.all(names.map(async (name) => this.#place(name)))
    const entries = names.map((name, index): [string, string | undefined] => [name, places[index]])
    return new Map(entries.filter((entry): entry is [string, string] => entry[1] !== undefined))
  }

  async #placesOfConfigured(): Promise<string[]> {
    const sources = [...this.#configured.values()].flatMap(({ source }) => source ?? [])
    const places = await Promise.all(sources.map(async (source) => this.#place(source)))
    return places.filter((place) => place !== undefined)
  }

  #unknown(name: string): ModelyardError {
    const { catalog } = this.#artifacts
    const known = this.list().flatMap((spec) => [spec.id, ...namesOf(spec)])
    const nearest = nearestNames(name, [...known, ...Object.keys(catalog)])
    const hint = Object.hasOwn(catalog, name)
      ? `It is in the catalog: fetch it with \`modelyard pull ${name}\`.`
      : nearest.length > 0
        ? `Did you mean ${nearest.map((near) => `"${near}"`).join(' or ')}?`
        : '`modelyard list` shows what there is.'
    return new ModelyardError('model_not_found', `There is no model "${name}" here. ${hint}`, {
      details: { model: name, nearest },
    })
  }
}

/** What it is called beside its id. */
function namesOf({ aliases, name }: ModelSpec): string[] {
  return name === undefined ? aliases : [name, ...aliases]
}

function disabled(name: string, id: string): ModelyardError {
  const message = `The model "${id}" is switched off here (enabled: false). Switch it on: modelyard settings reset models.${id}.enabled`
  return new ModelyardError('model_not_found', message, { details: { model: name, nearest: [] } })
}

const HUB_HOST = /^(hf\.co|huggingface\.co)\//i

/** Other ways in which clients of Ollama write a name (BR-37): the tag that stands for none, the hub before the repository. */
function spellingsOf(name: string): string[] {
  const plain = name.replace(HUB_HOST, '')
  const tag = plain.indexOf(':', plain.lastIndexOf('/') + 1)
  const other = tag < 0 ? `${plain}:latest` : plain.replace(/:latest$/, '')
  return [plain, other]
}

/** The spec that was there before, when the new one says the same. */
function kept(spec: ModelSpec, before: ReadonlyMap<string, ModelSpec>): ModelSpec {
  const known = before.get(spec.id)
  return known !== undefined && isDeepStrictEqual(known, spec) ? known : spec
}
