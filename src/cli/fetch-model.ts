import type { ArtifactStore } from '../models/artifact-store.ts'
import type { CommandContext } from './command-context.ts'
import { createProgressView, type ProgressView } from './render/progress.ts'

/** Fetches a model's file, with progress on standard error when there is anything to fetch. @returns its path */
export async function fetchModel(
  { err, clock, signal }: CommandContext,
  store: ArtifactStore,
  source: string,
  /** What is said of a model that is too large; it is fetched all the same. */
  warningFor: (bytes: number) => Promise<string | undefined>,
): Promise<string> {
  let view: Promise<ProgressView> | undefined
  try {
    return await store.ensure(source, {
      signal,
      admit: async (bytes) => {
        const warning = await warningFor(bytes)
        if (warning !== undefined) await err.line(`warning: ${warning}`)
      },
      onProgress: (progress) => {
        view ??= createProgressView(err, clock)
        const label =
          progress.stage === 'downloading' ? progress.file : `${progress.file} (${progress.stage})`
        void view.then((shown) => shown.update({ ...progress, label }))
      },
    })
  } finally {
    await view?.then((shown) => shown.stop())
  }
}
