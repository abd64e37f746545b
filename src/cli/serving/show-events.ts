import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import type { YardEvent } from '../../events/event-map.ts'
import type { Yard } from '../../yard.ts'
import type { CommandContext } from '../command-context.ts'
import { showDownloads } from '../render/downloads.ts'

/** Tells on standard error what an operator should know, and with `verbose` every load and unload. @returns a function that ends it */
export function showEvents(
  context: CommandContext,
  yard: Pick<Yard, 'subscribe'>,
  verbose: boolean,
): () => void {
  const { err } = context
  const unsubscribe = yard.subscribe((event) => {
    const line = describeEvent(event) ?? (verbose ? describeDetail(event) : undefined)
    if (line !== undefined) void err.line(line)
  })
  // After it: the first who listens is told what was warned of before.
  const stopDownloads = showDownloads(context, (listener) => yard.subscribe(listener))
  return () => {
    unsubscribe()
    void stopDownloads()
  }
}

/** Worth a line always. */
function describeEvent({ name, data }: YardEvent): string | undefined {
  switch (name) {
    case 'warning-raised':
      return `warning: ${data.message}`
    case 'load-failed':
      return `${data.model} could not be loaded: ${data.message} Next try in ${formatDuration(data.retryIn)} at the earliest.`
    case 'instance-exited':
      return `${data.instance} ended on its own: ${data.reason}`
    case 'download-finished':
      return `fetched ${data.source} (${formatBytes(data.bytes)})`
    default:
      return undefined
  }
}

/** Worth a line to those who want to know. */
function describeDetail({ name, data }: YardEvent): string | undefined {
  switch (name) {
    case 'load-started':
      return `loading ${data.instance} (${formatBytes(data.bytes)}): ${data.reason}`
    case 'instance-ready':
      return `${data.instance} is ready after ${formatDuration(data.took)} and holds ${formatBytes(data.measured)}`
    case 'unload-started':
      return `unloading ${data.instance}: ${data.reason}`
    case 'unload-finished':
      return `unloaded ${data.instance}, ${formatBytes(data.released)} came back in ${formatDuration(data.took)}`
    default:
      return undefined
  }
}
