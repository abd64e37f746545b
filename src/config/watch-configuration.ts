import { basename, dirname } from 'node:path'
import { ConfigurationReloader, type ReloaderOptions } from './configuration-reloader.ts'

export interface ConfigurationWatch {
  /** Stops watching; resolves when nothing is under way any more. */
  close(): Promise<void>
}

/**
 * Watches a configuration file until closed and reports what it becomes (BR-44). The folder is watched, not the file, so that
 * editors may replace it by renaming. `load` should be `loadConfiguration` with `reload: true`.
 */
export async function watchConfiguration(options: ReloaderOptions): Promise<ConfigurationWatch> {
  const { watch } = await import('chokidar')
  const folder = dirname(options.file)
  const name = basename(options.file)
  const reloader = new ConfigurationReloader(options)
  const watcher = watch(folder, {
    depth: 0,
    // The file counts as touched when the watch begins: what was saved since it was read must not be missed.
    ignoreInitial: false,
    ignored: (path) => path !== folder && basename(path) !== name,
  })
  watcher.on('all', () => reloader.touched())
  watcher.on('error', (error) => {
    const message = `The file is not watched any more: ${(error as Error).message}`
    options.onChange({ type: 'rejected', file: options.file, message })
  })
  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve)
  })
  return {
    async close() {
      await watcher.close()
      await reloader.close()
    },
  }
}
