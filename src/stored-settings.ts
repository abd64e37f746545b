import { layeredConfiguration, type Settings } from './config/layered-configuration.ts'
import type { YardConfiguration } from './config/yard-configuration.ts'
import type { SettingTable } from './store/setting-table.ts'

const KEY = 'settings'

/** What was changed at run time in earlier lives of this home, and in this one. */
export function storedSettings(table: SettingTable): Settings {
  return (table.read(KEY) ?? {}) as Settings
}

/** The configuration with what was changed at run time. Settings that make no sense any more beside another file are left out, with a warning. */
export function withStoredSettings(
  configuration: YardConfiguration,
  table: SettingTable,
  warn: (message: string) => void,
): YardConfiguration {
  const settings = storedSettings(table)
  if (configuration.layers === undefined || Object.keys(settings).length === 0) return configuration
  try {
    return layeredConfiguration(configuration.layers, settings)
  } catch (error) {
    warn(`The stored settings do not suit this configuration and are left out: ${(error as Error).message}`)
    return configuration
  }
}

export function keepSettings(table: SettingTable, settings: Settings): void {
  table.write(KEY, settings)
}
