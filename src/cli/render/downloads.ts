import type { YardEvent } from '../../events/event-map.ts'
import type { CommandContext } from '../command-context.ts'
import { createProgressView, type ProgressView } from './progress.ts'

/** Shows the downloads of a yard while they go on. @returns a function that ends it */
export function showDownloads(
  { err, clock }: CommandContext,
  subscribe: (listener: (event: YardEvent) => void) => () => void,
): () => Promise<void> {
  let view: Promise<ProgressView> | undefined
  const unsubscribe = subscribe(({ name, data }) => {
    if (name === 'download-progressed') {
      view ??= createProgressView(err, clock)
      void view.then((shown) => shown.update({ ...data, label: data.file }))
    } else if (name === 'download-finished' || name === 'load-started') {
      void view?.then((shown) => shown.stop())
      view = undefined
    }
  })
  return async () => {
    unsubscribe()
    await view?.then((shown) => shown.stop())
  }
}
