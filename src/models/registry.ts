import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import type { ArtifactStore } from './artifact-store.ts'
import { isCompanion } from './discovery/find-local-model.ts'
import { parseShardName } from './gguf/shards.ts'
import type { ModelSpec } from './model-spec.ts'

export interface ModelRegistryOptions {
  /** Models of the configuration, in its order. */
  specs: readonly ModelSpec[]
  artifacts: ArtifactStore
  /** What a model has that only its name and its source are known of. */
  defaultSpec: (id: string, source: string) => ModelSpec
}

/** Folders of the models folder that hold fetched files; what lies elsewhere in it was put there by people. */
const FETCHED = new Set(['hf', 'pip', 'url'])

/**
 * What exists: models of the configuration, models of the catalog whose files are here, and files people put into the models folder. A name
 * that is none of them never makes anybody reach for the internet.
 */
export class ModelRegistry {
  readonly #artifacts: ArtifactStore
  readonly #defaultSpec: ModelRegistryOptions['defaultSpec']
  #configured = new Map<string, ModelSpec>()
  #found = new Map<string, ModelSpec>()

  constructor({ specs, artifacts, defaultSpec }: ModelRegistryOptions) {
    this.#artifacts = artifacts
    this.#defaultSpec = defaultSpec
    this.replace(specs)
  }

  /** Another configuration. */
  replace(specs: readonly ModelSpec[]): void {
    this.#configured = new Map(specs.map((spec) => [spec.id, this.#withCatalog(spec)]))
  }

  /** Looks again which files are there: at start, and after a model was fetched or removed. */
  async refresh(): Promise<void> {
    const found = [...(await this.#foundOfCatalog()), ...(await this.#foundInFolder())]
    // Specs that did not change keep their identity: that is how others see that nothing is to be done.
    const entries = found.map((spec): [string, ModelSpec] => [spec.id, this.#kept(spec)])
    this.#found = new Map(entries.filter(([id]) => !this.#configured.has(id)))
  }

  /** By id or alias. @throws ModelyardError `model_not_found` with the nearest names and what to do */
  resolve(name: string): ModelSpec {
    const spec = this.#configured.get(name) ?? this.#byAlias(name) ?? this.#found.get(name)
    if (spec === undefined) throw this.#unknown(name)
    return spec
  }

  /** Configured models first, in their order. */
  list(): ModelSpec[] {
    return [...this.#configured.values(), ...this.#found.values()]
  }

  #byAlias(name: string): ModelSpec | undefined {
    for (const spec of this.#configured.values()) if (spec.aliases.includes(name)) return spec
    return undefined
  }

  /** What the catalog knows of a model holds where the configuration says nothing. */
  #withCatalog(spec: ModelSpec): ModelSpec {
    const { source } = spec
    const { catalog } = this.#artifacts
    if (source === undefined || !Object.hasOwn(catalog, source)) return spec
    return { ...catalog[source]?.spec, ...spec }
  }

  async #foundOfCatalog(): Promise<ModelSpec[]> {
    const names = Object.keys(this.#artifacts.catalog)
    const places = await Promise.all(names.map((name) => this.#artifacts.locate(name)))
    return names
      .filter((_, index) => places[index] !== undefined)
      .map((name) => this.#withCatalog(this.#defaultSpec(name, name)))
  }

  async #foundInFolder(): Promise<ModelSpec[]> {
    const paths = await modelFiles(this.#artifacts.folder)
    return paths.map((path) => this.#defaultSpec(idOfFile(path), path))
  }

  #kept(spec: ModelSpec): ModelSpec {
    const before = this.#found.get(spec.id)
    return before !== undefined && before.source === spec.source ? before : spec
  }

  #unknown(name: string): ModelyardError {
    const { catalog } = this.#artifacts
    const known = this.list().flatMap(({ id, aliases }) => [id, ...aliases])
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

/** Files that people put into the models folder, at most three folders deep; the first shard stands for a split model. */
async function modelFiles(folder: string, depth = 0): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const found: string[] = []
  for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
    const path = join(folder, entry.name)
    if (await isFolder(path)) {
      if (depth < 3 && !(depth === 0 && FETCHED.has(entry.name)))
        found.push(...(await modelFiles(path, depth + 1)))
    } else if (isModelFile(entry.name)) found.push(path)
  }
  return found
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

function isModelFile(name: string): boolean {
  return /\.gguf$/i.test(name) && !isCompanion(name) && (parseShardName(name)?.number ?? 1) === 1
}

/** The file's name without ending, in the letters ids may have. */
function idOfFile(path: string): string {
  const stem = parseShardName(path)?.stem ?? basename(path).replace(/\.gguf$/i, '')
  return stem.replaceAll(/[^\w.:-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'model'
}
