import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ModelyardError } from './base/errors.ts'
import type { Problem } from './base/shape.ts'
import { CONFIGURATION_NAMES, fileError, readConfigurationFile } from './config/configuration-file.ts'
import type { ConfigurationInput } from './config/configuration-input.ts'
import { takeEngines } from './config/custom-engines.ts'
import { yardDirectories, type Environment, type YardDirectories } from './config/directories.ts'
import type { EngineOptionTable } from './config/engine-options.ts'
import { keysFromEnvironment } from './config/keys-from-environment.ts'
import { layeredConfiguration } from './config/layered-configuration.ts'
import { mergeInputs } from './config/merge-inputs.ts'
import type { YardConfiguration } from './config/yard-configuration.ts'

export interface LoadConfigurationOptions {
  /** `--config FILE`; must exist. */
  file?: string
  environment: Environment
  /** Relative paths on the command line and in the environment start here; a file's own start at its folder. */
  workingDirectory: string
  /** What was said on the command line, as a configuration: wins over the environment, which wins over the file. */
  commandLine?: ConfigurationInput
  /** Engines besides the built-in ones. */
  engines?: EngineOptionTable
  /** True while running: a file without content is taken for a half-written one and refused. Default false. */
  reload?: boolean
}

/**
 * Finds, reads and checks the configuration (C2). The file is the first of: `--config`, `MODELYARD_CONFIG`, `modelyard.yaml|yml|json|ts`
 * in the working directory, the same in the user's configuration folder. None is needed.
 * @throws ModelyardError `config_invalid` with file, line and column
 */
export async function loadConfiguration(options: LoadConfigurationOptions): Promise<YardConfiguration> {
  const { environment, workingDirectory, engines = {} } = options
  const directories = yardDirectories(environment, workingDirectory)
  const path = await findConfigurationFile(options, directories)
  const keys = await keysFromEnvironment(environment, workingDirectory)
  const said = {
    environment: mergeInputs(
      fromEnvironment(environment),
      keys === undefined ? {} : { server: { keys } },
    ) as ConfigurationInput,
    commandLine: options.commandLine ?? {},
  }
  if (path === undefined) {
    const parsing = { directories, directory: workingDirectory, engines }
    return layeredConfiguration({ file: {}, ...said, parsing })
  }
  const file = await readConfigurationFile(path)
  if (file.empty && options.reload === true) throw halfWritten(path)
  try {
    const { value, engines: customEngines } = await takeEngines(file.value, dirname(path))
    const parsing = { directories, directory: dirname(path), engines, customEngines }
    return layeredConfiguration({ file: value, ...said, path, parsing })
  } catch (error) {
    throw await fileError(file, problemsOf(error))
  }
}

function problemsOf(error: unknown): readonly Problem[] {
  if (error instanceof ModelyardError && Array.isArray(error.details['problems'])) {
    return error.details['problems'] as Problem[]
  }
  throw error
}

/** The file that {@link loadConfiguration} reads; undefined when there is none. */
export async function findConfigurationFile(
  { file, environment, workingDirectory }: LoadConfigurationOptions,
  directories: YardDirectories,
): Promise<string | undefined> {
  const named = file ?? (environment['MODELYARD_CONFIG'] || undefined)
  if (named !== undefined) return resolve(workingDirectory, named)
  for (const folder of [workingDirectory, directories.config]) {
    for (const name of CONFIGURATION_NAMES) {
      const path = join(folder, name)
      if (await exists(path)) return path
    }
  }
  return undefined
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    // What is there but may not be looked at must not be passed over in silence: reading it will say why.
    const { code } = error as NodeJS.ErrnoException
    return code !== 'ENOENT' && code !== 'ENOTDIR'
  }
}

/** For containers, and so that a secret need not stand in a file. The hub's variables are those of its own tools. */
function fromEnvironment(environment: Environment): ConfigurationInput {
  const downloads = hubFromEnvironment(environment)
  return { ...serverFromEnvironment(environment), ...(Object.keys(downloads).length > 0 && { downloads }) }
}

function hubFromEnvironment(environment: Environment): NonNullable<ConfigurationInput['downloads']> {
  const endpoint = environment['HF_ENDPOINT']
  const token = environment['HF_TOKEN']
  const proxy = environment['HTTPS_PROXY'] || environment['https_proxy']
  return { ...(endpoint && { endpoint }), ...(token && { token }), ...(proxy && { proxy }) }
}

/** `MODELYARD_HOST` and `MODELYARD_PORT`. */
function serverFromEnvironment(environment: Environment): ConfigurationInput {
  const host = environment['MODELYARD_HOST']
  const port = environment['MODELYARD_PORT']
  const server = {
    ...(host && { host }),
    ...(port && { port: portNumber(port) }),
  }
  return Object.keys(server).length === 0 ? {} : { server }
}

function portNumber(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  const message = `MODELYARD_PORT must be a whole number from 0 to 65535, not "${text}".`
  throw new ModelyardError('config_invalid', message)
}

function halfWritten(path: string): ModelyardError {
  return new ModelyardError('config_invalid', `${path}:1:1: the file is empty.`, {
    details: { file: path, line: 1, column: 1 },
  })
}

/** Where a library's yard keeps its things when the caller does not say: as the command line does. `home` puts everything under one folder. */
export function libraryDirectories(home?: string): YardDirectories {
  const environment = home === undefined ? process.env : { ...process.env, MODELYARD_HOME: home }
  return yardDirectories(environment, process.cwd())
}

/** Where an upstream's API key may be: named by the configuration, never part of it. */
export function environmentVariable(name: string): string | undefined {
  return process.env[name]
}
