import { isDeepStrictEqual } from 'node:util'
import type { ModelSpec } from './model-spec.ts'

/** Where lists outlive the process, so that an endpoint that is down at the start keeps its models. */
export interface ServedMemory {
  read(key: string): unknown
  write(key: string, value: unknown): void
}

/** A model that an endpoint lists: its name there, and what its engine's options need beside those of the entry. Never a secret: it is kept. */
export interface ServedModel {
  name: string
  options: Record<string, unknown>
}

/** What changed with a list. Ids. */
export interface ServedDifference {
  added: string[]
  vanished: string[]
}

/** A list as people see it. */
export interface ServedList {
  /** The entry of the configuration: `lab/*`. */
  entry: string
  models: number
  vanished: number
  /** Milliseconds since 1970 when the endpoint told it; null = never yet. */
  toldAt: number | null
  /** Why it could not be asked since, or what of its answer is left out. */
  problem: string | null
}

interface Known {
  spec: ModelSpec
  /** Milliseconds since 1970. */
  vanishedAt?: number
}

interface Entry {
  /** What all of its models have in common; its id is `prefix*`. */
  template: ModelSpec
  models: Map<string, Known>
  toldAt: number | null
  failure: string | null
  leftOut: string | null
}

/** What is kept on disk. */
interface Kept {
  toldAt: number
  models: ServedModel[]
}

const KEY = 'served-models'

/**
 * Models that endpoints list, for entries of the configuration that stand for many (`lab/*`). A model that an endpoint does not list any more
 * stays, marked; an endpoint that cannot be asked keeps its list. Who asks, and when, is elsewhere.
 */
export class ServedModels {
  readonly #memory: ServedMemory
  readonly #isId: (id: string) => boolean
  readonly #entries = new Map<string, Entry>()

  /** @param isId whether a model can have this id; names that cannot are left out, and that is told */
  constructor(memory: ServedMemory, isId: (id: string) => boolean) {
    this.#memory = memory
    this.#isId = isId
  }

  /** Other entries. Those that are as before keep what they know; those that changed have their old list until they are told a new one. */
  replace(templates: readonly ModelSpec[]): void {
    const before = new Map(this.#entries)
    this.#entries.clear()
    const kept = (this.#memory.read(KEY) ?? {}) as Record<string, Kept>
    for (const template of templates) {
      const known = before.get(template.id)
      const entry = isDeepStrictEqual(known?.template, template) ? known : undefined
      this.#entries.set(template.id, entry ?? this.#remembered(template, kept[template.id]))
    }
  }

  templates(): ModelSpec[] {
    return [...this.#entries.values()].map(({ template }) => template)
  }

  /** The endpoint said which models it has. Nothing happens for entries that are gone. */
  told(entry: string, models: readonly ServedModel[], at: number): ServedDifference {
    const known = this.#entries.get(entry)
    if (known === undefined) return { added: [], vanished: [] }
    const before = known.models
    const fit = models.filter(({ name }) => this.#isId(idOf(known.template, name)))
    const wrong = models.length - fit.length
    const now = new Map(fit.map((model) => specEntry(known.template, model, before)))
    const gone = [...before].filter(([id]) => !now.has(id))
    known.models = new Map([
      ...now,
      ...gone.map(([id, { spec, vanishedAt = at }]): [string, Known] => [id, { spec, vanishedAt }]),
    ])
    known.toldAt = at
    known.failure = null
    known.leftOut = wrong === 0 ? null : `${wrong} of its names cannot be ids here and are left out.`
    this.#keep(entry, { toldAt: at, models: fit })
    return {
      added: [...now.keys()].filter((id) => before.get(id) === undefined || isVanished(before.get(id))),
      vanished: gone.flatMap(([id, model]) => (isVanished(model) ? [] : [id])),
    }
  }

  /** The endpoint could not be asked: what it told before stays. */
  failed(entry: string, problem: string): void {
    const known = this.#entries.get(entry)
    if (known !== undefined) known.failure = problem
  }

  find(id: string): ModelSpec | undefined {
    for (const { models } of this.#entries.values()) {
      const known = models.get(id)
      if (known !== undefined) return known.spec
    }
    return undefined
  }

  specs(): ModelSpec[] {
    return [...this.#entries.values()].flatMap(({ models }) => [...models.values()].map(({ spec }) => spec))
  }

  /** What is wrong with one of its models. */
  problemOf(id: string): string | undefined {
    for (const { template, models, failure } of this.#entries.values()) {
      const known = models.get(id)
      if (known?.vanishedAt !== undefined) {
        const since = new Date(known.vanishedAt).toISOString()
        return `The endpoint of ${template.id} does not list it any more (since ${since}).`
      }
      if (known !== undefined && failure !== null) return failure
    }
    return undefined
  }

  lists(): ServedList[] {
    return [...this.#entries].map(([entry, { models, toldAt, failure, leftOut }]) => {
      const vanished = [...models.values()].filter(isVanished).length
      return { entry, models: models.size - vanished, vanished, toldAt, problem: failure ?? leftOut }
    })
  }

  #remembered(template: ModelSpec, kept: Kept | undefined): Entry {
    const { models = [], toldAt = null } = kept ?? {}
    const entries = models.map((model) => specEntry(template, model))
    return { template, models: new Map(entries), toldAt, failure: null, leftOut: null }
  }

  /** Lists of entries that are gone are forgotten with the next one that is told. */
  #keep(entry: string, list: Kept): void {
    const kept = (this.#memory.read(KEY) ?? {}) as Record<string, Kept>
    const living = Object.entries(kept).filter(([id]) => this.#entries.has(id))
    this.#memory.write(KEY, { ...Object.fromEntries(living), [entry]: list })
  }
}

/** A spec that did not change keeps its identity: that is how others see that nothing is to be done. */
function specEntry(
  template: ModelSpec,
  { name, options }: ServedModel,
  before?: ReadonlyMap<string, Known>,
): [string, Known] {
  const id = idOf(template, name)
  const spec = { ...template, id, engineOptions: { ...template.engineOptions, ...options } }
  const known = before?.get(id)?.spec
  return [id, { spec: known !== undefined && isDeepStrictEqual(known, spec) ? known : spec }]
}

/** `lab/*` and `tiny` are `lab/tiny`. */
function idOf({ id }: ModelSpec, name: string): string {
  return id.slice(0, -1) + name
}

function isVanished(model: Known | undefined): boolean {
  return model?.vanishedAt !== undefined
}
