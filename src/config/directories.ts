import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

/** Where a yard keeps its things. Absolute paths; nothing is created here. */
export interface YardDirectories {
  /** What one yard owns: two on one home are refused (M16). Holds the database and the lock. */
  home: string
  /** The user's own configuration file is looked for here. */
  config: string
  models: string
  engines: string
  /** Parked contexts. */
  contexts: string
  logs: string
  /** Where contexts pass through between a worker and its file; empty while nothing is loaded. */
  slots: string
  /** Records of running workers. */
  workers: string
  /** File of the SQLite database. */
  database: string
}

export type Environment = Record<string, string | undefined>

interface Places {
  config: string
  data: string
  state: string
}

/**
 * `MODELYARD_HOME` puts everything under one folder. Without it the platform's own places: the XDG folders on Linux and other
 * Unixes (relative ones are ignored, as their specification says), `Application Support` on macOS, `AppData` on Windows.
 */
export function yardDirectories(
  environment: Environment,
  workingDirectory: string,
  platform: NodeJS.Platform = process.platform,
): YardDirectories {
  const home = environment['MODELYARD_HOME']
  if (home !== undefined && home !== '') {
    const folder = resolve(workingDirectory, home)
    return directories({ config: folder, data: folder, state: folder })
  }
  return directories(platformPlaces(environment, platform))
}

function directories({ config, data, state }: Places): YardDirectories {
  return {
    home: state,
    config,
    models: join(data, 'models'),
    engines: join(data, 'engines'),
    contexts: join(state, 'contexts'),
    logs: join(state, 'logs'),
    slots: join(state, 'slots'),
    workers: join(state, 'workers'),
    database: join(state, 'modelyard.db'),
  }
}

function platformPlaces(environment: Environment, platform: NodeJS.Platform): Places {
  const user = environment['HOME'] || environment['USERPROFILE'] || homedir()
  if (platform === 'win32') {
    const local = environment['LOCALAPPDATA'] || join(user, 'AppData', 'Local')
    const roaming = environment['APPDATA'] || join(user, 'AppData', 'Roaming')
    return {
      config: join(roaming, 'modelyard'),
      data: join(local, 'modelyard'),
      state: join(local, 'modelyard'),
    }
  }
  const xdg = (name: string, fallback: string): string => {
    const folder = environment[name]
    return join(folder !== undefined && isAbsolute(folder) ? folder : join(user, fallback), 'modelyard')
  }
  const [config, data, state] =
    platform === 'darwin'
      ? ([
          'Library/Application Support',
          'Library/Application Support',
          'Library/Application Support',
        ] as const)
      : (['.config', '.local/share', '.local/state'] as const)
  return {
    config: xdg('XDG_CONFIG_HOME', config),
    data: xdg('XDG_DATA_HOME', data),
    state: xdg('XDG_STATE_HOME', state),
  }
}
