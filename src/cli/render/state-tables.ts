import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import type { ModelListing } from '../../dialects/yard-port.ts'
import type { DomainStatus, InstanceStatus, PoolStatus, TicketStatus } from '../../pool/pool-status.ts'
import type { ServedList } from '../../models/served-models.ts'
import type { ActivityStatus } from '../../runs/live-runs.ts'
import type { YardState } from '../../yard-state.ts'
import { renderTable } from './table.ts'

/** `modelyard ps`: what is in memory, what waits, and how much room there is. */
export function renderStatus(
  status: Pick<YardState, 'instances' | 'queue' | 'activity' | 'memory' | 'threads' | 'runs' | 'contexts'>,
): string {
  const blocks = [
    status.instances.length === 0 ? 'No model is in memory.' : renderInstances(status.instances),
    ...(status.queue.length === 0 ? [] : [renderQueue(status.queue, status.activity)]),
    renderRoom(status),
  ]
  return blocks.join('\n\n')
}

function renderInstances(instances: readonly InstanceStatus[]): string {
  const columns = [
    { title: 'INSTANCE' },
    { title: 'MODEL' },
    { title: 'STATE' },
    { title: 'SLOTS' },
    { title: 'MEMORY', align: 'right' as const },
    { title: 'CONTEXT', align: 'right' as const },
    { title: 'UNLOADS' },
    { title: 'PID', align: 'right' as const },
  ]
  const rows = instances.map((instance) => [
    instance.id,
    instance.model,
    stateOf(instance),
    `${instance.slots.filter((slot) => slot.leased).length} of ${instance.slots.length} busy`,
    formatBytes(sum(Object.values(instance.booked))),
    String(instance.contextSize),
    unloadsIn(instance),
    instance.pid === undefined ? '–' : String(instance.pid),
  ])
  return renderTable(columns, rows)
}

function stateOf({ state, progress }: InstanceStatus): string {
  return state === 'loading' && progress !== undefined ? `${state} ${Math.floor(progress * 100)} %` : state
}

function unloadsIn({ leases, expiresIn }: InstanceStatus): string {
  if (expiresIn === null) return 'never'
  return leases > 0 ? 'when idle' : `in ${formatDuration(Math.max(0, expiresIn))}`
}

/** With the run that waits, so that `modelyard why` can be asked about it; operators' loads have none. */
function renderQueue(queue: readonly TicketStatus[], activity: readonly ActivityStatus[]): string {
  const columns = [
    { title: 'WAITING', align: 'right' as const },
    { title: 'MODEL' },
    { title: 'SINCE' },
    { title: 'RUN' },
    { title: 'WHY' },
  ]
  const rows = queue.map((ticket) => [
    String(ticket.position),
    ticket.model,
    formatDuration(ticket.waitingFor),
    activity.find((run) => run.ticket === ticket.id)?.run ?? '–',
    ticket.reason,
  ])
  return renderTable(columns, rows)
}

function renderRoom({
  memory,
  threads,
  runs,
  contexts,
}: Pick<PoolStatus, 'memory' | 'threads' | 'runs' | 'contexts'>): string {
  const domains = Object.entries(memory).flatMap(([domain, status]) =>
    status === undefined ? [] : [describeDomain(domain, status)],
  )
  const work = `${runs.active} of ${runs.limit} runs, ${threads.active} of ${threads.limit} threads at work`
  return [...domains, work, ...describeContexts(contexts)].join('\n')
}

/** What is parked, and what contexts have spared since the start; nothing where there is neither. */
function describeContexts({
  count,
  bytes,
  limit,
  savedTokens,
  savedSeconds,
}: PoolStatus['contexts']): string[] {
  if (count === 0 && savedTokens === 0) return []
  const most = limit === null ? '' : ` of ${formatBytes(limit)}`
  const spared = `${savedTokens} prompt tokens were not computed again, ${formatDuration(savedSeconds * 1000)} spared`
  return [`contexts: ${count} parked, ${formatBytes(bytes)}${most}; ${spared}`]
}

function describeDomain(domain: string, { booked, budget, host }: DomainStatus): string {
  const free =
    host === undefined
      ? ''
      : `; the machine has ${formatBytes(host.available)} of ${formatBytes(host.total)} free`
  return `${domain}: ${formatBytes(booked)} of ${formatBytes(budget)} budget in use${free}`
}

/** `modelyard list` */
export function renderModels(models: readonly ModelListing[]): string {
  if (models.length === 0) {
    return 'No model is known yet. Fetch one (modelyard pull smollm2) or name some in modelyard.yaml.'
  }
  const columns = [
    { title: 'MODEL' },
    { title: 'STATE' },
    { title: 'FOR' },
    { title: 'ENGINE' },
    { title: 'WEIGHTS' },
    { title: 'CONTEXT', align: 'right' as const },
    { title: 'ALSO CALLED' },
  ]
  const rows = models.map((model) => [
    titleOf(model),
    model.state,
    model.purpose ?? '–',
    model.engine ?? '–',
    model.quantization ?? '–',
    model.contextLength === null ? '–' : String(model.contextLength),
    model.aliases.join(', '),
  ])
  return renderTable(columns, rows)
}

/** Names that a note lists; more are counted. */
const MOST_NAMES = 3

/** What is wrong with models, and with the lists that endpoints gave, each once; and which models are one file. */
export function renderModelNotes(models: readonly ModelListing[], lists: readonly ServedList[]): string[] {
  const told = new Set(lists.map(({ problem }) => problem))
  const problems = new Map<string, string[]>()
  for (const { id, problem } of models) {
    if (problem === undefined || told.has(problem)) continue
    problems.set(problem, [...(problems.get(problem) ?? []), id])
  }
  const notes = [...problems].map(([problem, ids]) => {
    const more = ids.length > MOST_NAMES ? ` and ${ids.length - MOST_NAMES} more` : ''
    return `${ids.slice(0, MOST_NAMES).join(', ')}${more}: ${problem}`
  })
  const failed = lists.flatMap(({ entry, problem }) => (problem === null ? [] : [`${entry}: ${problem}`]))
  const same = models.flatMap(({ id, sameFileAs }) =>
    sameFileAs === undefined ? [] : [`${id}: the same file as ${sameFileAs}`],
  )
  const all = [...notes, ...failed, ...same]
  return all.length === 0 ? [] : ['', ...all]
}

/** `★ Writer (smollm2)`: a favourite that was given a name. */
function titleOf({ id, name, favourite }: ModelListing): string {
  return `${favourite ? '★ ' : ''}${name === id ? id : `${name} (${id})`}`
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0)
}
