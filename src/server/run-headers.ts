import type { RunInfo } from '../runs/run.ts'
import type { Headers } from './exchange.ts'

/** What became of the request, for people and proxies. */
export function addRunHeaders(headers: Headers, info: RunInfo): void {
  headers['modelyard-run'] = info.id
  headers['modelyard-model'] = headerText(info.model)
  headers['modelyard-queue-ms'] = Math.round(info.queueMs)
  headers['modelyard-load-ms'] = Math.round(info.loadMs)
  headers['modelyard-cached-tokens'] = info.cachedTokens
  if (info.instance !== undefined) headers['modelyard-instance'] = headerText(info.instance)
  if (info.placement !== undefined) headers['modelyard-placement'] = headerText(info.placement)
}

/** Names of models may hold what headers may not. */
function headerText(text: string): string {
  return /^[\x20-\x7E]*$/.test(text) ? text : encodeURIComponent(text)
}
