import { ModelyardError } from './base/errors.ts'
import { pathText, type DataPath } from './base/shape.ts'
import { emptyBudgetWarning } from './config/empty-budget.ts'
import { findSetting, layeredConfiguration, layersOf, type Settings } from './config/layered-configuration.ts'
import { checkSettingKey, SETTING_KEYS, settingPath, SETTINGS } from './config/setting-keys.ts'
import type { SettingStatus } from './server/control-port.ts'
import { keepSettings, storedSettings } from './stored-settings.ts'
import { preload, reconfigure } from './yard-models.ts'
import type { YardParts } from './yard-parts.ts'

/** Settings that change while the yard runs (M2, M20): stored, applied to what is loaded, each with its origin. */
export class YardSettings {
  readonly #parts: YardParts
  #work: Promise<unknown> = Promise.resolve()

  constructor(parts: YardParts) {
    this.#parts = parts
  }

  list(): SettingStatus[] {
    const stored = storedSettings(this.#parts.store.settings)
    const models = Object.keys(stored).filter((key) => key.startsWith('models.') && !key.endsWith('.source'))
    return [...SETTING_KEYS, ...models].map((key) => this.#status(key, stored))
  }

  /**
   * Changes several at once, all or none; null goes back to what holds without it. Budgets that shrink evict by the pool's own rules and cut no
   * run. @throws ModelyardError `invalid_request` naming the key, `model_not_found`
   */
  change(changes: Readonly<Record<string, unknown>>): Promise<SettingStatus[]> {
    const changed = this.#work.then(async () => this.#change(changes))
    this.#work = changed.catch(() => undefined)
    return changed
  }

  async #change(changes: Readonly<Record<string, unknown>>): Promise<SettingStatus[]> {
    const parts = this.#parts
    const layers = layersOf(parts.configuration)
    const settings = this.#merged(changes)
    const before = parts.configuration.preload
    try {
      await reconfigure(parts, layeredConfiguration(layers, settings))
    } catch (error) {
      throw asRequestError(error, Object.keys(changes))
    }
    keepSettings(parts.store.settings, settings)
    parts.bus.emit('settings-changed', { keys: Object.keys(changes) })
    const added = parts.configuration.preload.filter((name) => !before.includes(name))
    void preload(parts, added)
    return this.list()
  }

  #merged(changes: Readonly<Record<string, unknown>>): Settings {
    const settings: Record<string, unknown> = { ...storedSettings(this.#parts.store.settings) }
    for (const [written, value] of Object.entries(changes)) {
      checkSettingKey(written)
      const key = this.#ownKey(written, settings)
      if (value === null) delete settings[key]
      else settings[key] = value
    }
    return withoutLoneSources(settings)
  }

  /** A model is meant by any of its names. One that nobody configured becomes configured, with the place of its files. */
  #ownKey(key: string, settings: Record<string, unknown>): string {
    if (!key.startsWith('models.')) return key
    const [, name = '', option = ''] = settingPath(key)
    const configured = this.#parts.configuration.models.find(({ id }) => id === name)
    if (configured !== undefined) return key
    const { id, source } = this.#parts.registry.resolve(name)
    const isConfigured = this.#parts.configuration.models.some((spec) => spec.id === id)
    if (!isConfigured && source !== undefined) settings[`models.${id}.source`] = source
    return `models.${id}.${option}`
  }

  #status(key: string, stored: Settings): SettingStatus {
    const { configuration } = this.#parts
    const description = SETTINGS[key as keyof typeof SETTINGS] ?? 'Option of one model.'
    const { origin, value } =
      configuration.layers === undefined
        ? { origin: 'file' as const, value: undefined }
        : findSetting(configuration.layers, stored, key)
    const warning = key === 'memory.budget' ? emptyBudgetWarning(this.#parts.pool.limits) : undefined
    const hidden = Object.hasOwn(stored, key) && origin !== 'settings' ? { hidden: stored[key] } : {}
    return {
      key,
      value: value ?? null,
      origin,
      effective: this.#effective(key) ?? null,
      ...hidden,
      ...(warning !== undefined && { warning }),
      description,
    }
  }

  #effective(key: string): unknown {
    const { configuration, pool } = this.#parts
    if (key === 'memory.budget' || key === 'memory.absolute') {
      const kind = key === 'memory.budget' ? 'budget' : 'absolute'
      const domains = Object.entries(pool.limits.memory)
      return Object.fromEntries(domains.map(([domain, limit]) => [domain, limit?.[kind]]))
    }
    if (key === 'memory.headroom') return pool.limits.headroom
    const [, id, option = ''] = settingPath(key)
    const spec = configuration.models.find((model) => model.id === id)
    if (key.startsWith('models.')) return { enabled: true, ...spec }[option]
    return settingPath(key).reduce<unknown>(
      (value, name) => (value as Record<string, unknown> | undefined)?.[name],
      configuration,
    )
  }
}

/** The place of a model's files is only kept for the sake of its options. */
function withoutLoneSources(settings: Record<string, unknown>): Settings {
  const keys = Object.keys(settings)
  const isLone = (key: string): boolean =>
    key.startsWith('models.') &&
    key.endsWith('.source') &&
    !keys.some((other) => other !== key && other.startsWith(key.slice(0, -'source'.length)))
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !isLone(key)))
}

/** What the configuration's check says of a value is the request's fault here. */
function asRequestError(error: unknown, keys: readonly string[]): unknown {
  if (!(error instanceof ModelyardError) || error.code !== 'config_invalid') return error
  const [problem] = (error.details['problems'] ?? []) as { path: DataPath }[]
  const param = problem === undefined ? keys[0] : pathText(problem.path)
  const message = error.message.replaceAll(/^(configuration|createYard): /gm, '')
  return new ModelyardError('invalid_request', message, { details: { param }, cause: error })
}
