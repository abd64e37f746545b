import { loadConfiguration, type LoadConfigurationOptions } from '../config.ts'
import type { ConfigurationInput } from '../config/configuration-input.ts'
import type { YardConfiguration } from '../config/yard-configuration.ts'
import type { CommandContext } from './command-context.ts'
import { commandModels } from './command-models.ts'

export interface CommandConfiguration {
  configuration: YardConfiguration
  /** Id of the model that each name given on the command line stands for. */
  idOf: ReadonlyMap<string, string>
  /** Reads the same configuration again, for a file that has changed. A file that is gone is a mistake, not another configuration. */
  reload: () => Promise<YardConfiguration>
}

export interface CommandWishes {
  /** `--config FILE` */
  config?: string | undefined
  /** Models named on the command line. */
  models?: readonly string[]
  /** Named instead when there is none: neither here, nor in the configuration, nor in the models folder. */
  defaultModel?: string
  server?: { host?: string; port?: number }
}

/** The configuration as files, environment and command line make it. @throws ModelyardError `config_invalid` */
export async function commandConfiguration(
  context: CommandContext,
  wishes: CommandWishes = {},
): Promise<CommandConfiguration> {
  const load = (models: ConfigurationInput['models']): Promise<YardConfiguration> =>
    loadConfiguration(loadOptions(context, wishes, models))
  const first = await load({})
  const names = await namesOf(wishes, first)
  const { models, idOf } = commandModels(names, first.models, process.cwd())
  const configuration = Object.keys(models).length === 0 ? first : await load(models)
  const again = { ...wishes, config: configuration.file }
  const reload = (): Promise<YardConfiguration> =>
    loadConfiguration({ ...loadOptions(context, again, models), reload: true })
  return { configuration, idOf, reload }
}

async function namesOf(
  { models = [], defaultModel }: CommandWishes,
  first: YardConfiguration,
): Promise<readonly string[]> {
  if (defaultModel === undefined || models.length > 0 || first.models.length > 0) return models
  const { scanModelsFolder } = await import('../models/discovery/scan-models-folder.ts')
  const found = await scanModelsFolder(first.directories.models)
  return found.models.length === 0 ? [defaultModel] : []
}

function loadOptions(
  { environment }: CommandContext,
  { config, server = {} }: CommandWishes,
  models: ConfigurationInput['models'] = {},
): LoadConfigurationOptions {
  return {
    environment,
    workingDirectory: process.cwd(),
    ...(config !== undefined && { file: config }),
    commandLine: { server, models },
  }
}
