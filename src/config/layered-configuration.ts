import { ModelyardError } from '../base/errors.ts'
import { isMap } from '../base/is-map.ts'
import type { ConfigurationLayers } from './configuration-layers.ts'
import { mergeInputs } from './merge-inputs.ts'
import { parseConfiguration } from './parse-configuration.ts'
import { settingPath } from './setting-keys.ts'
import type { YardConfiguration } from './yard-configuration.ts'

/** What was changed at run time, by key, as it was written. */
export type Settings = Readonly<Record<string, unknown>>

export type SettingOrigin = 'command-line' | 'environment' | 'settings' | 'file' | 'default'

/** @throws ModelyardError `config_invalid` when all of it together makes no sense */
export function layeredConfiguration(
  layers: ConfigurationLayers,
  settings: Settings = {},
): YardConfiguration {
  const { file, environment, commandLine, path, parsing } = layers
  const value = mergeInputs(withModelMaps(file), inputOf(settings), environment, commandLine)
  const parsed = parseConfiguration(value, parsing)
  return { ...(path !== undefined && { file: path }), ...parsed, layers }
}

/** Where the value of a setting comes from, and how it was written there; undefined by default. */
export function findSetting(
  { file, environment, commandLine }: ConfigurationLayers,
  settings: Settings,
  key: string,
): { origin: SettingOrigin; value: unknown } {
  const places: [SettingOrigin, unknown][] = [
    ['command-line', commandLine],
    ['environment', environment],
    ['settings', inputOf(settings)],
    ['file', withModelMaps(file)],
  ]
  for (const [origin, layer] of places) {
    const value = valueAt(layer, settingPath(key))
    if (value !== undefined && value !== null) return { origin, value }
  }
  return { origin: 'default', value: undefined }
}

function inputOf(settings: Settings): object {
  const parts = Object.entries(settings).map(([key, value]) => nested(settingPath(key), value))
  return mergeInputs({}, ...parts) as object
}

function nested(path: readonly string[], value: unknown): object {
  // Defined, not assigned: a model may be called __proto__.
  return path.reduceRight<unknown>((inner, name) => Object.fromEntries([[name, inner]]), value) as object
}

function valueAt(layer: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    layer,
  )
}

/** A model written as its source alone can be given further options. */
function withModelMaps(file: unknown): unknown {
  if (!isMap(file) || !isMap(file['models'])) return file
  const models = Object.entries(file['models']).map(([id, model]) => [
    id,
    typeof model === 'string' ? { source: model } : model,
  ])
  return { ...file, models: Object.fromEntries(models) as unknown }
}

/** A configuration without layers was made by hand; nothing can be laid over it. @throws ModelyardError `unsupported` */
export function layersOf({ layers }: YardConfiguration): ConfigurationLayers {
  if (layers !== undefined) return layers
  throw new ModelyardError(
    'unsupported',
    'This yard was given a finished configuration; its settings cannot change.',
  )
}
