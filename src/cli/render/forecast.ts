import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import type { LoadForecast } from '../../pool/forecast.ts'
import { renderFields } from './table.ts'

/** `modelyard plan`: what a load would do. */
export function renderForecast(forecast: LoadForecast): string {
  const bytes = Object.entries(forecast.bytes).map(
    ([domain, size]) => `${formatBytes(size ?? 0)} of ${domain}`,
  )
  const fields = renderFields([
    ['model', forecast.model],
    ['needs', bytes.join(', ') || 'nothing'],
    ['context', `${forecast.contextSize} tokens in each of ${forecast.slots} slots`],
    [
      'largest',
      forecast.largestContext === null
        ? 'no context fits'
        : `${forecast.largestContext} tokens per slot would fit`,
    ],
    ['outcome', describeOutcome(forecast)],
  ])
  return [fields, ...forecast.evicts.map(describeVictim)].join('\n')
}

const OUTCOMES: Record<LoadForecast['outcome'], string> = {
  resident: 'it is in memory already, or on its way',
  fits: 'it fits: it would be loaded at once',
  evicts: 'it fits once these have gone:',
  waits: 'it would wait: these are in the way and cannot go yet:',
  refused: 'it would be refused',
}

function describeOutcome({ outcome, refusal }: LoadForecast): string {
  return refusal === undefined ? OUTCOMES[outcome] : `${OUTCOMES[outcome]}: ${refusal.message}`
}

function describeVictim({ instance, bytes, idleFor, reason }: LoadForecast['evicts'][number]): string {
  return `  ${instance}  ${formatBytes(bytes)}, last used ${formatDuration(idleFor)} ago: ${reason}`
}
