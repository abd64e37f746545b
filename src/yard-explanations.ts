import { formatDuration } from './base/durations.ts'
import type { ModelSpec } from './models/model-spec.ts'
import type { RunRecord } from './runs/run-log.ts'
import type { Explanation } from './server/control-port.ts'
import type { StoredEvent } from './store/event-table.ts'
import type { YardParts } from './yard-parts.ts'

/** Events looked through for a run or a model. */
const LOOKED_AT = 2000
const SHOWN = 20

type Sources = Pick<YardParts, 'store' | 'pool' | 'clock'>

/** Why a run went as it did (R19): what it waited for, why it got its place, who had to go for it, and the numbers of a refusal. */
export function explainRun(run: RunRecord, { store }: Sources): Explanation {
  const events = store.events
    .recent(LOOKED_AT)
    .filter(({ at }) => at >= run.startedAt - 1 && at <= run.startedAt + run.totalMs + 1)
    .filter((event) => concerns(event, run.model) || isEviction(event))
    .toReversed()
  const waits = run.queueMs >= 1 ? [waitSentence(run)] : []
  const evicted = events
    .filter(isEviction)
    .map(({ data }) => `${data.instance} had to go meanwhile: ${data.reason}.`)
  const loads = events.filter(isLoad).map(({ data }) => `${data.instance} was loaded: ${data.reason}.`)
  return {
    subject: 'run',
    id: run.id,
    model: run.model,
    reasons: [endSentence(run), ...waits, ...placeSentence(run), ...loads, ...evicted],
    run,
    events: events.slice(-SHOWN).map(toldEvent),
  }
}

/** Why a model is in the state it is in, and what happened to it last. */
export function explainModel({ id, pinned }: ModelSpec, { store, pool, clock }: Sources): Explanation {
  const status = pool.status()
  const known = status.models[id]
  const state = known?.state ?? 'unloaded'
  const waiting = status.queue.filter(({ model }) => model === id)
  const instances = status.instances.filter(({ model }) => model === id)
  const events = store.events
    .recent(LOOKED_AT)
    .filter((event) => concerns(event, id))
    .slice(0, SHOWN)
    .toReversed()
  const last = events.at(-1)
  const reasons = [
    `It is ${state}${pinned === false ? '' : ', and pinned'}.`,
    ...waiting
      .slice(0, 5)
      .map(
        ({ position, waitingFor, reason }) =>
          `Request ${position + 1} has waited ${formatDuration(waitingFor)}: ${reason}.`,
      ),
    ...instances.map(({ id: name, leases, expiresIn }) => instanceSentence(name, leases, expiresIn)),
    ...failureSentence(known?.lastError),
    ...(last === undefined
      ? ['Nothing has happened to it yet in this home.']
      : [`Last, ${ago(last.at, clock.wallTime())}: ${toldEvent(last).text}`]),
  ]
  return { subject: 'model', id, model: id, reasons, events: events.map(toldEvent) }
}

function endSentence({ outcome, error, totalMs }: RunRecord): string {
  if (error !== null) return `It ended with ${outcome}: ${error}`
  return `It ended with ${outcome} after ${formatDuration(totalMs)}.`
}

function waitSentence({ queueMs, loadMs }: RunRecord): string {
  const loading = loadMs >= 1 ? `, ${formatDuration(loadMs)} of it for a load` : ''
  return `It waited ${formatDuration(queueMs)} for a place${loading}.`
}

function placeSentence({ instance, placement }: RunRecord): string[] {
  if (instance === null) return ['It never had a place.']
  return [placement === null ? `It ran on ${instance}.` : `It ran on ${instance}: ${placement}.`]
}

function instanceSentence(instance: string, leases: number, expiresIn: number | null): string {
  if (leases > 0) return `${instance} answers ${leases} ${leases === 1 ? 'request' : 'requests'}.`
  return expiresIn === null
    ? `${instance} stays until somebody needs its memory.`
    : `${instance} is idle and goes in ${formatDuration(expiresIn)}.`
}

function failureSentence(error: { message: string; retryIn: number } | undefined): string[] {
  if (error === undefined) return []
  return [
    `Its last load failed: ${error.message} Next try in ${formatDuration(error.retryIn)} at the earliest.`,
  ]
}

type Told = StoredEvent & {
  data: { instance?: string; model?: string; reason?: string; message?: string; took?: number }
}

function concerns(event: StoredEvent, model: string): boolean {
  return (event as Told).data.model === model
}

function isLoad(event: StoredEvent): event is Told {
  return event.name === 'load-started'
}

/** The pool's own words for it: what goes for others, or for the machine, says how much that frees. */
function isEviction(event: StoredEvent): event is Told {
  return event.name === 'unload-started' && ((event as Told).data.reason ?? '').includes('frees ')
}

const WORDS: Record<string, string> = {
  'load-started': 'a load began',
  'load-finished': 'it was loaded',
  'load-failed': 'its load failed',
  'instance-ready': 'it was ready',
  'unload-started': 'an unload began',
  'unload-finished': 'it was unloaded',
  'instance-exited': 'its worker ended',
  'ticket-refused': 'a request was refused',
}

function toldEvent(event: StoredEvent): Explanation['events'][number] {
  const { name, at, data } = event as Told
  const what = WORDS[name] ?? name
  const who = data.instance === undefined ? '' : ` (${data.instance})`
  const why =
    data.reason ??
    data.message ??
    (data.took === undefined ? undefined : `after ${formatDuration(data.took)}`)
  return { at, name, text: `${what}${who}${why === undefined ? '' : `: ${why}`}` }
}

function ago(at: number, now: number): string {
  return `${formatDuration(Math.max(0, now - at))} ago`
}
