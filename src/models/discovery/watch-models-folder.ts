import { mkdir } from 'node:fs/promises'
import type { Clock, Timer } from '../../base/clock.ts'

export interface FolderWatch {
  /** Stops watching; resolves when nothing is under way any more. */
  close(): Promise<void>
}

export interface FolderWatchOptions {
  folder: string
  clock: Clock
  /** Called some time after the last change, one call at a time; a failure of it is its own affair. */
  onChange: () => Promise<void>
  /** Watching ended by itself. */
  onProblem: (message: string) => void
}

/** Milliseconds of quiet before a change is told: copying a model takes its time. */
const QUIET = 1000

/** Watches a models folder for models that come and go (S1). Files on their way (parts, locks, records) do not count. */
export async function watchModelsFolder(options: FolderWatchOptions): Promise<FolderWatch> {
  const { folder, onProblem } = options
  // A folder that does not exist yet could not be watched; one that cannot be made has nothing to watch (BR-25).
  await mkdir(folder, { recursive: true }).catch(() => undefined)
  const { watch } = await import('chokidar')
  const calls = new QuietCalls(options)
  const watcher = watch(folder, {
    ignoreInitial: true,
    ignored: (path, stats) => stats?.isFile() === true && !/\.gguf$/i.test(path),
  })
  watcher.on('all', () => calls.touch())
  watcher.on('error', (error) => onProblem(`${folder} is not watched any more: ${(error as Error).message}`))
  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve)
  })
  return {
    async close() {
      await watcher.close()
      await calls.close()
    },
  }
}

/** Joins many changes to one call after a quiet moment. */
class QuietCalls {
  readonly #options: FolderWatchOptions
  #timer: Timer | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: FolderWatchOptions) {
    this.#options = options
  }

  touch(): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.setTimer(QUIET, () => {
      this.#running = this.#running.then(async () => this.#options.onChange()).catch(() => undefined)
    })
  }

  async close(): Promise<void> {
    this.#timer?.cancel()
    await this.#running
  }
}
