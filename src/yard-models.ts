import { toModelyardError } from './base/errors.ts'
import { configurationDifference, type ConfigurationDifference } from './config/configuration-change.ts'
import { emptyBudgetWarning } from './config/empty-budget.ts'
import { poolLimits } from './config/pool-limits.ts'
import type { YardConfiguration } from './config/yard-configuration.ts'
import type { LoadPlan } from './engines/engine.ts'
import { footprintTotal } from './host/memory.ts'
import type { ModelSpec } from './models/model-spec.ts'
import type { YardParts } from './yard-parts.ts'

const NEVER = new AbortController().signal

/** Settings that a running server cannot take over. */
const NEEDS_RESTART = new Set(['server', 'directories', 'engines'])

/**
 * Makes the pool know the models that are to be in memory without being asked for (`minInstances`, `prepare`). Resolves when those that
 * are `prepare: "blocking"` are ready; all others go on in the background and a failure is a warning. @throws what a blocking one failed with
 */
export async function prepareConfigured(parts: YardParts): Promise<void> {
  const wanted = parts.configuration.models.filter(
    ({ prepare, minInstances }) => prepare !== 'on-demand' || minInstances > 0,
  )
  const [blocking, others] = [wanted.filter(isBlocking), wanted.filter((spec) => !isBlocking(spec))]
  await claimDevices(parts, wanted)
  for (const spec of others) void attempt(parts, spec.id, async () => bringIn(parts, spec))
  void preload(parts, parts.configuration.preload)
  await Promise.all(blocking.map((spec) => bringIn(parts, spec)))
}

/** P8: whoever demands a GPU has its place in the queue before those that would take one if there is room. */
async function claimDevices(parts: YardParts, wanted: readonly ModelSpec[]): Promise<void> {
  const demanding = wanted.filter(demandsGpu)
  if (demanding.length === wanted.length) return
  for (const { id } of demanding) {
    const prepared = await attempt(parts, id, async () => parts.preparer.prepare(id, NEVER))
    if (prepared !== undefined) parts.pool.load(id).catch(() => undefined)
  }
}

function demandsGpu({ device: { gpu } }: ModelSpec): boolean {
  return gpu !== false && gpu !== 'auto'
}

function isBlocking({ prepare }: ModelSpec): boolean {
  return prepare === 'blocking'
}

async function bringIn({ preparer, pool }: YardParts, { id, minInstances }: ModelSpec): Promise<void> {
  await preparer.prepare(id, NEVER)
  if (minInstances > 0) await pool.ready(id)
  else await pool.load(id)
}

/** M14: one after the other in the background, the largest first; what fails is a warning and harms nobody. */
export async function preload(parts: YardParts, names: readonly string[]): Promise<void> {
  const sized: { name: string; bytes: number }[] = []
  for (const name of names) {
    const bytes = await attempt(parts, name, async () => footprintOf(await parts.preparer.plan(name)))
    if (bytes !== undefined) sized.push({ name, bytes })
  }
  for (const { name } of sized.sort((a, b) => b.bytes - a.bytes)) {
    await attempt(parts, name, async () => parts.pool.load(parts.registry.resolve(name).id))
  }
}

function footprintOf({ footprint }: LoadPlan): number {
  return Object.values(footprint).reduce(
    (sum, terms) => sum + (terms === undefined ? 0 : footprintTotal(terms)),
    0,
  )
}

async function attempt<Result>(
  { bus }: YardParts,
  model: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (thrown) {
    const { code, message } = toModelyardError(thrown)
    bus.emit('warning-raised', { code, message: `The model "${model}" could not be prepared: ${message}` })
    return undefined
  }
}

/** BR-44: unchanged models stay as they are, removed ones go when they are idle, running answers end as they began. @throws ModelyardError `config_invalid` before anything has changed */
export async function reconfigure(parts: YardParts, configuration: YardConfiguration): Promise<void> {
  const difference = configurationDifference(parts.configuration, configuration)
  // What cannot be is refused before anything has changed.
  const limits = poolLimits(configuration, parts.host())
  parts.configuration = configuration
  if (difference === undefined) return
  const before = new Map(parts.registry.list().map((spec) => [spec.id, spec]))
  parts.registry.replace(configuration.models)
  void parts.modelLists.replace(configuration.wildcards ?? [])
  parts.pool.setLimits(limits)
  await parts.registry.refresh()
  const after = new Map(parts.registry.list().map((spec) => [spec.id, spec]))
  for (const id of [...before.keys()].filter((known) => !after.has(known))) {
    parts.preparer.forget(id)
    parts.pool.withdraw(id)
  }
  const changed = [...after].filter(([id, spec]) => before.has(id) && before.get(id) !== spec)
  await Promise.all(changed.map(([id]) => renew(parts, id)))
  announce(parts, difference)
  warnOfMissingFiles(parts, [...difference.added, ...difference.changed])
  warnOfEmptyBudgets(parts)
}

function warnOfMissingFiles({ registry, bus }: YardParts, ids: readonly string[]): void {
  for (const id of ids) {
    const { missing } = registry.placeOf(id)
    if (missing === undefined) continue
    const message = `"${id}": ${missing.reason} ${missing.remedy}`
    bus.emit('warning-raised', { code: 'model_not_found', message })
  }
}

/** M2: 0 is a value. */
export function warnOfEmptyBudgets({ pool, bus }: Pick<YardParts, 'pool' | 'bus'>): void {
  const message = emptyBudgetWarning(pool.limits)
  if (message !== undefined) bus.emit('warning-raised', { code: 'budget_empty', message })
}

/** A changed model that is in memory is described anew at once, so that its old copies go; others wait for their next request. */
async function renew({ preparer, pool, bus }: YardParts, id: string): Promise<void> {
  preparer.forget(id)
  if (!pool.isResident(id)) return
  try {
    await preparer.prepare(id, NEVER)
  } catch (thrown) {
    const { code, message } = toModelyardError(thrown)
    bus.emit('warning-raised', {
      code,
      message: `The model "${id}" cannot follow its new configuration: ${message}`,
    })
  }
}

function announce({ bus }: YardParts, { added, changed, removed, settings }: ConfigurationDifference): void {
  bus.emit('config-reloaded', { added, changed, removed })
  const waiting = settings.filter((name) => NEEDS_RESTART.has(name))
  if (waiting.length === 0) return
  bus.emit('warning-raised', {
    code: 'config_invalid',
    message: `Changes of ${waiting.join(' and ')} take effect at the next start.`,
  })
}
