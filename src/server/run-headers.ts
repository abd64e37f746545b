import type { RunInfo } from '../runs/run.ts'
import type { Headers } from './exchange.ts'

/** What became of the request, for people and proxies. */
export function runHeaders(info: RunInfo): Headers {
  const headers: Headers = {
    'modelyard-run': info.id,
    'modelyard-model': headerText(info.model),
    'modelyard-queue-ms': Math.round(info.queueMs),
    'modelyard-load-ms': Math.round(info.loadMs),
    'modelyard-cached-tokens': info.cachedTokens,
  }
  if (info.instance !== undefined) headers['modelyard-instance'] = headerText(info.instance)
  if (info.placement !== undefined) headers['modelyard-placement'] = headerText(info.placement)
  return headers
}

/** Names of models may hold what headers may not. */
function headerText(text: string): string {
  return /^[\x20-\x7E]*$/.test(text) ? text : encodeURIComponent(text)
}
