import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { ModelyardError } from './base/errors.ts'
import { MODEL_ID } from './config/model-shape.ts'
import type {
  ModelCollection,
  ModelDescription,
  ModelListing,
  PullOptions,
  ResidentModel,
} from './dialects/yard-port.ts'
import type { ModelFacts } from './models/model-facts.ts'
import type { ModelRecipe } from './models/model-recipe.ts'
import type { ModelSpec } from './models/model-spec.ts'
import type { InstanceStatus } from './pool/pool-status.ts'
import { oversizedWarning } from './runs/fetch-limit.ts'
import type { YardParts } from './yard-parts.ts'
import { modelListing } from './yard-state.ts'

/** Copies that answer or still do. */
const IN_MEMORY: ReadonlySet<InstanceStatus['state']> = new Set(['ready', 'draining'])

/** The yard's models as dialects manage them: what they are, where they come from, and what is made of them. */
export class YardCollection implements ModelCollection {
  readonly #parts: YardParts

  constructor(parts: YardParts) {
    this.#parts = parts
  }

  /** What {@link YardPort.listModels} lists: configured models, found ones, and those that were made of them. */
  list(): ModelListing[] {
    const { registry, recipes } = this.#parts
    const made = recipes.all().flatMap(([name, recipe]) => {
      if (registry.has(name) || !registry.has(recipe.from)) return []
      return [this.#listing(registry.resolve(recipe.from), name)]
    })
    return [...registry.list().map((spec) => this.#listing(spec)), ...made]
  }

  /** @throws ModelyardError `model_not_found` with the nearest known names */
  find(name: string): ModelListing {
    const spec = this.#parts.registry.resolve(name)
    return this.recipeOf(name) === undefined ? this.#listing(spec) : this.#listing(spec, name)
  }

  /** The recipe a name stands for, unless a model has come to have that name itself. */
  recipeOf(name: string): ModelRecipe | undefined {
    const recipe = this.#parts.recipes.find(name)
    return recipe === undefined || this.#parts.registry.has(name) ? undefined : recipe
  }

  async describe(name: string): Promise<ModelDescription> {
    const description = await this.#describe(this.#parts.registry.resolve(name))
    const recipe = this.recipeOf(name)
    return recipe === undefined ? description : withRecipe(description, name, recipe)
  }

  async describeAll(): Promise<ModelDescription[]> {
    await this.#parts.registry.refresh()
    return await Promise.all(this.list().map(async ({ id }) => this.describe(id)))
  }

  residents(): ResidentModel[] {
    const byModel = new Map<string, InstanceStatus[]>()
    for (const instance of this.#parts.pool.status().instances) {
      if (!IN_MEMORY.has(instance.state)) continue
      byModel.set(instance.model, [...(byModel.get(instance.model) ?? []), instance])
    }
    return [...byModel].map(([model, instances]) => this.#resident(model, instances))
  }

  async pull(name: string, { signal, onProgress }: PullOptions): Promise<ModelDescription> {
    const { registry, artifacts, pool, bus } = this.#parts
    const source = this.#sourceOf(name)
    if (source === undefined) return await this.describe(name)
    const path = await artifacts.ensure(source, {
      signal,
      onProgress,
      admit: (bytes) => {
        const message = oversizedWarning(name, bytes, pool.limits)
        if (message !== undefined) bus.emit('warning-raised', { code: 'model_too_large', message })
      },
    })
    await registry.refresh()
    const found = registry.list().find((spec) => spec.source === path)
    return await this.describe(registry.has(name) ? name : (found?.id ?? name))
  }

  make(name: string, recipe: ModelRecipe): void {
    const { registry, recipes } = this.#parts
    if (!MODEL_ID.pattern.test(name)) throw refusal(`A model's name has ${MODEL_ID.wants}.`)
    if (registry.has(name)) {
      throw refusal(`"${name}" is a model of the configuration or of the models folder; choose another name.`)
    }
    const base = this.recipeOf(recipe.from)
    const { id } = registry.resolve(recipe.from)
    recipes.add(name, { ...base, ...recipe, defaults: { ...base?.defaults, ...recipe.defaults }, from: id })
  }

  async remove(name: string): Promise<void> {
    if (this.recipeOf(name) !== undefined) {
      this.#parts.recipes.remove(name)
      return
    }
    const { registry, recipes } = this.#parts
    const { id } = registry.resolve(name)
    const { keptFor } = await registry.planRemoval(id)
    const standing = recipes.all().flatMap(([made, { from }]) => (from === id ? [made] : []))
    const others = [...keptFor, ...standing].map((other) => `"${other}"`).join(', ')
    if (others !== '') throw refusal(`The files of "${id}" are also those of ${others}; remove those first.`)
    await this.#unload(id)
    await registry.remove(id)
  }

  /** It leaves memory before its files go; a model that is still configured is prepared anew by its next request. */
  async #unload(id: string): Promise<void> {
    const { preparer, pool } = this.#parts
    if (preparer.peek(id) === undefined) return
    await pool.unload(id)
    preparer.forget(id)
    pool.withdraw(id)
  }

  /** Where a name's files come from; undefined for a model without files. */
  #sourceOf(name: string): string | undefined {
    const { registry, artifacts } = this.#parts
    if (registry.has(name) || this.recipeOf(name) !== undefined) return registry.resolve(name).source
    const plain = name.replace(/:latest$/, '')
    if (Object.hasOwn(artifacts.catalog, plain)) return plain
    const hub = /^(?:hf\.co|huggingface\.co)\/(.+)$/i.exec(plain)?.[1]
    if (hub !== undefined) return `hf:${hub}`
    if (plain.startsWith('hf:')) return plain
    throw new ModelyardError(
      'model_not_found',
      `"${name}" is neither a model of the configuration or the catalog nor a repository (hf.co/org/repo:quant).`,
      { details: { model: name } },
    )
  }

  #listing(spec: ModelSpec, name?: string): ModelListing {
    const listing = modelListing(spec, this.#parts)
    return name === undefined ? listing : { ...listing, id: name, name, aliases: [] }
  }

  async #describe(spec: ModelSpec): Promise<ModelDescription> {
    const { preparer, startedAt } = this.#parts
    const path = await this.#pathOf(spec)
    const facts = path === undefined ? null : await this.#factsOf(spec, path)
    const isHere = spec.source === undefined || facts !== null
    // Only what is here already: to be looked at must not start a download.
    const isKnown = preparer.peek(spec.id) !== undefined && spec.source !== undefined
    if (isHere && !isKnown) await preparer.plan(spec.id).catch(() => undefined)
    const { system } = spec
    const endpoint = preparer.peek(spec.id)?.plan.facts.endpoint
    return {
      ...this.#listing(spec),
      ...(facts !== null && { purpose: facts.purpose }),
      modifiedAt: path === undefined ? startedAt : await modificationTime(path, startedAt),
      bytes: facts?.fileSize ?? 0,
      digest: facts?.contentId ?? hashOf(preparer.peek(spec.id)?.plan.key ?? spec.id),
      facts,
      defaults: spec.defaults,
      ...(system === undefined ? {} : { system }),
      ...(endpoint === undefined ? {} : { endpoint }),
    }
  }

  async #pathOf({ source }: ModelSpec): Promise<string | undefined> {
    return source === undefined ? undefined : this.#parts.artifacts.locate(source).catch(() => undefined)
  }

  async #factsOf(spec: ModelSpec, path: string): Promise<ModelFacts | null> {
    return this.#parts.preparer.inspect(spec, path).catch(() => null)
  }

  #resident(model: string, instances: readonly InstanceStatus[]): ResidentModel {
    const charges = instances.flatMap(({ booked }) => Object.entries(booked))
    const ends = instances.map((instance) => this.#expiryOf(instance))
    return {
      model,
      bytes: charges.reduce((sum, [, bytes = 0]) => sum + bytes, 0),
      deviceBytes: charges.reduce((sum, [domain, bytes = 0]) => sum + (domain === 'ram' ? 0 : bytes), 0),
      contextLength: Math.max(...instances.map(({ contextSize }) => contextSize)),
      expiresAt: ends.includes(null) ? null : Math.max(...ends.map(Number)),
    }
  }

  /** One that runs goes no sooner than its time after the run's end. */
  #expiryOf({ model, leases, expiresIn }: InstanceStatus): number | null {
    const now = this.#parts.clock.wallTime()
    if (expiresIn !== null) return now + expiresIn
    const { registry } = this.#parts
    const spec = leases > 0 && registry.has(model) ? registry.resolve(model) : undefined
    return spec === undefined || spec.keepAlive < 0 || spec.pinned !== false ? null : now + spec.keepAlive
  }
}

function withRecipe(base: ModelDescription, name: string, recipe: ModelRecipe): ModelDescription {
  const system = recipe.system ?? base.system
  return {
    ...base,
    id: name,
    name,
    aliases: [],
    digest: hashOf(base.digest + JSON.stringify(recipe)),
    defaults: { ...base.defaults, ...recipe.defaults },
    recipe,
    ...(system === undefined ? {} : { system }),
  }
}

async function modificationTime(path: string, otherwise: number): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => otherwise,
  )
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function refusal(message: string): ModelyardError {
  return new ModelyardError('invalid_request', message)
}
