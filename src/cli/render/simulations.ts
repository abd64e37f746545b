import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import { domainsOf } from '../../pool/policy/budget.ts'
import type { SimulationReport } from '../../pool/simulation/simulation-report.ts'
import { safeText } from './safe-text.ts'
import { renderTable } from './table.ts'

export interface NamedReport extends SimulationReport {
  /** The configuration or policy it was played under. */
  name: string
  /** Of this machine, for this run. */
  eventsPerSecond: number
}

const ROWS: readonly (readonly [title: string, cell: (report: NamedReport) => string])[] = [
  ['served', ({ served }) => String(served)],
  ['refused', refusals],
  ['loads', ({ loads }) => String(loads)],
  ['evictions', ({ evictions }) => String(evictions)],
  ['time spent loading', ({ reloadTime }) => formatDuration(reloadTime)],
  ['wait, median', ({ waits }) => formatDuration(waits.median)],
  ['wait, 99 of 100 below', ({ waits }) => formatDuration(waits.p99)],
  ['wait, longest', ({ waits }) => formatDuration(waits.longest)],
  ['first token, median', ({ firstTokens }) => formatDuration(firstTokens.median)],
  ['first token, 99 of 100 below', ({ firstTokens }) => formatDuration(firstTokens.p99)],
  ['first token, longest', ({ firstTokens }) => formatDuration(firstTokens.longest)],
  ['moments over budget', ({ overBudget }) => String(overBudget)],
  ['most in memory', peaks],
  ['beginnings reused', ({ reuse }) => `${Math.round(reuse * 100)} %`],
  ['prompt tokens computed', ({ prompts }) => String(prompts.computed)],
  ['prompt tokens reused', ({ prompts }) => String(prompts.reused)],
  ['contexts parked, restored', ({ contexts }) => `${contexts.parked}, ${contexts.restored}`],
  ['simulated', ({ duration }) => formatDuration(duration)],
  ['events', ({ events, eventsPerSecond }) => `${events} (${eventsPerSecond} a second)`],
]

/** A column for each simulation, and one table more of the models of the first. */
export function renderSimulations(reports: readonly NamedReport[]): string {
  const columns = [
    { title: '' },
    ...reports.map(({ name }) => ({ title: safeText(name), align: 'right' as const })),
  ]
  const rows = ROWS.map(([title, cell]) => [title, ...reports.map((report) => cell(report))])
  const [first] = reports
  const sums = renderTable(columns, rows)
  return first === undefined ? sums : `${sums}\n\n${renderModels(first)}`
}

function renderModels({ models, name }: NamedReport): string {
  const right = { align: 'right' as const }
  const columns = [
    { title: `MODEL (${safeText(name)})` },
    { title: 'SERVED', ...right },
    { title: 'LOADS', ...right },
    { title: 'EVICTIONS', ...right },
    { title: 'MEDIAN WAIT', ...right },
    { title: 'LONGEST', ...right },
  ]
  const rows = Object.entries(models).map(([id, { served, loads, evictions, waits }]) => [
    safeText(id),
    String(served),
    String(loads),
    String(evictions),
    formatDuration(waits.median),
    formatDuration(waits.longest),
  ])
  return renderTable(columns, rows)
}

function refusals({ refused }: SimulationReport): string {
  const kinds = Object.entries(refused).map(([code, count]) => `${count} ${code}`)
  return kinds.length === 0 ? '0' : kinds.join(', ')
}

function peaks({ peak }: SimulationReport): string {
  return domainsOf(peak)
    .map((domain) => `${domain} ${formatBytes(peak[domain] ?? 0)}`)
    .join(', ')
}
