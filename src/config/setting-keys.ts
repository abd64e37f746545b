import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'

export type SettingKey =
  | 'memory.budget'
  | 'memory.absolute'
  | 'memory.headroom'
  | 'memory.maxLargeModels'
  | 'keepAlive'
  | 'context'
  | 'preload'
  | 'limits.runTimeout'
  | 'contexts.budget'

/** Settings that can change while the yard runs (M2), and what each is for. They are keys of the configuration. */
export const SETTINGS: Readonly<Record<SettingKey, string>> = {
  'memory.budget': 'Soft budget: bytes, "6GiB", "75%", or one of these per domain.',
  'memory.absolute': 'Limit of forced loads; never below the budget.',
  'memory.headroom': 'Memory of the machine that always stays free.',
  'memory.maxLargeModels': 'Large models in memory at once.',
  keepAlive: 'Idle time until unload, for models that do not say; -1 = never.',
  context: 'Tokens per conversation, for models that do not say.',
  preload: 'Models that are loaded at the start, in the background, the largest first.',
  'limits.runTimeout': 'Most time a request may take in all.',
  'contexts.budget': 'Most bytes of parked contexts on disk.',
}

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[]

/** Options of single models that can change while the yard runs (M20): `models.ID.OPTION`. `source` stands for models that nobody configured. */
const MODEL_OPTIONS = [
  'pinned',
  'enabled',
  'aliases',
  'name',
  'favourite',
  'keepAlive',
  'context',
  'slots',
  'maxInstances',
  'minInstances',
  'system',
  'defaults',
  'source',
]

const DURATIONS: ReadonlySet<string> = new Set<SettingKey>(['keepAlive', 'limits.runTimeout'])
const SIZES: ReadonlySet<string> = new Set<SettingKey>([
  'memory.budget',
  'memory.absolute',
  'memory.headroom',
  'contexts.budget',
])

/** What the number that holds is one of: milliseconds, bytes (for each domain of memory, too), or neither. */
export function settingUnit(key: string): 'duration' | 'bytes' | undefined {
  const isOfModel = key.startsWith('models.')
  if (isOfModel ? settingPath(key)[2] === 'keepAlive' : DURATIONS.has(key)) return 'duration'
  return SIZES.has(key) ? 'bytes' : undefined
}

/** The places in a configuration that a key names. Ids of models may have dots. */
export function settingPath(key: string): string[] {
  if (!key.startsWith('models.')) return key.split('.')
  const last = key.lastIndexOf('.')
  return ['models', key.slice('models.'.length, last), key.slice(last + 1)]
}

/** @throws ModelyardError `invalid_request` for what is no setting, with the nearest that is */
export function checkSettingKey(key: string): void {
  if (Object.hasOwn(SETTINGS, key)) return
  const [first, id, option] = settingPath(key)
  if (first === 'models' && id !== undefined && id !== '' && option !== undefined) {
    if (option !== 'source' && MODEL_OPTIONS.includes(option)) return
    const known = MODEL_OPTIONS.filter((name) => name !== 'source').join(', ')
    throw unknown(key, `Of a model, these can change at run time: ${known}.`)
  }
  const [near] = nearestNames(key, SETTING_KEYS, 1)
  throw unknown(
    key,
    near === undefined
      ? `Known are ${SETTING_KEYS.join(', ')} and models.ID.OPTION.`
      : `Did you mean "${near}"?`,
  )
}

function unknown(key: string, hint: string): ModelyardError {
  return new ModelyardError(
    'invalid_request',
    `"${key}" is not a setting that can change at run time. ${hint}`,
    {
      details: { param: key },
    },
  )
}
