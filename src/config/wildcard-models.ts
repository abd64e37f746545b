import { isMap } from '../base/is-map.ts'
import { report, type ReadContext } from '../base/shape.ts'
import { CATALOG } from '../models/catalog.ts'
import type { ModelValues } from './model-shape.ts'

/** Engines that can be asked which models there are. */
const LISTING_ENGINES: ReadonlySet<string> = new Set(['upstream'])

/** What can be said of one model alone. */
const OF_ONE = ['aliases', 'name', 'minInstances', 'prepare'] as const

/** Whether an entry (`lab/*`) stands for all models that an endpoint lists. */
export function isWildcard(id: string): boolean {
  return id.endsWith('*')
}

/** What cannot be said of many models at once. */
export function checkWildcard(id: string, values: ModelValues, context: ReadContext): void {
  if (!LISTING_ENGINES.has(values.engine ?? '')) {
    const message =
      'stands for all models of an endpoint (its name ends with *), which only "upstream" can list'
    report(context, ['models', id, 'engine'], message)
  }
  for (const option of OF_ONE) {
    if (values[option] === undefined) continue
    report(context, ['models', id, option], `is one model's; say it in an entry of that model's id`, 'key')
  }
}

/**
 * An entry that says nothing of where its model is, and lies under one for many, is one of those: `lab/tiny: {slots: 2}` beside `lab/*` differs
 * from it by its slots.
 */
export function withInherited(input: unknown): unknown {
  if (!isMap(input) || !isMap(input['models'])) return input
  const { models } = input
  const wildcards = Object.keys(models).filter(isWildcard)
  if (wildcards.length === 0) return input
  const entries = Object.entries(models).map(([id, entry]) => [id, inherited(id, entry, models, wildcards)])
  return { ...input, models: Object.fromEntries(entries) as unknown }
}

function inherited(
  id: string,
  entry: unknown,
  models: Record<string, unknown>,
  wildcards: readonly string[],
): unknown {
  const own = entry ?? {}
  if (!isMap(own) || isWildcard(id) || Object.hasOwn(CATALOG, id)) return entry
  if (['engine', 'source', 'file'].some((name) => own[name] !== undefined)) return entry
  const above = wildcards
    .filter((wildcard) => id.startsWith(wildcard.slice(0, -1)))
    .toSorted((a, b) => b.length - a.length)[0]
  const common = above === undefined ? undefined : models[above]
  if (above === undefined || !isMap(common)) return entry
  return { ...common, remoteModel: id.slice(above.length - 1), ...own }
}
