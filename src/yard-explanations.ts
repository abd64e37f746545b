import { formatDuration } from './base/durations.ts'
import type { ModelSpec } from './models/model-spec.ts'
import { activityOf, type LiveRun } from './runs/live-runs.ts'
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
  const { id, model, startedAt, totalMs } = run
  const events = eventsAround(store, model, startedAt, startedAt + totalMs)
  const waits = run.queueMs >= 1 ? [waitSentence(run)] : []
  return {
    subject: 'run',
    id,
    model,
    reasons: [
      endSentence(run),
      ...waits,
      ...placeSentence(run),
      ...reuseSentence(run),
      ...happenings(events),
    ],
    run,
    events: events.slice(-SHOWN).map(toldEvent),
  }
}

/** The same of a run that has not ended: what it waits for at this moment, or where it runs and why there. */
export function explainLiveRun(live: LiveRun, { store, pool, clock }: Sources): Explanation {
  const { info, startedAt } = live
  const events = eventsAround(store, info.model, startedAt, clock.wallTime())
  const wait = info.ticket === undefined ? undefined : pool.waitOf(info.ticket)
  const since = formatDuration(Math.max(0, clock.wallTime() - startedAt))
  return {
    subject: 'run',
    id: info.id,
    model: info.model,
    state: activityOf(live).state,
    reasons: [...liveSentences(info, since, wait), ...happenings(events)],
    events: events.slice(-SHOWN).map(toldEvent),
  }
}

function liveSentences(
  { instance, ticket, placement, queueMs, loadMs, promptTokens, cachedTokens }: LiveRun['info'],
  since: string,
  wait: { place: number; reason: string } | undefined,
): string[] {
  if (instance === undefined) {
    if (ticket === undefined)
      return [`It was begun ${since} ago; the files of its model are fetched or looked at.`]
    if (wait === undefined) return [`It was begun ${since} ago and is about to be given its place.`]
    return [`It has waited ${since} and is number ${wait.place} for its model: ${wait.reason}.`]
  }
  return [
    `It was begun ${since} ago and has not ended.`,
    ...(queueMs >= 1 ? [waitSentence({ queueMs, loadMs })] : []),
    ...placeSentence({ instance, placement: placement ?? null }),
    ...(promptTokens > 0
      ? [`Of ${promptTokens} tokens of its prompt ${cachedTokens} were there already.`]
      : []),
  ]
}

/** What happened to the model in that time, and who went meanwhile; oldest first. */
function eventsAround(store: Sources['store'], model: string, from: number, to: number): StoredEvent[] {
  return store.events
    .recent(LOOKED_AT)
    .filter(({ at }) => at >= from - 1 && at <= to + 1)
    .filter((event) => concerns(event, model) || isEviction(event))
    .toReversed()
}

function happenings(events: readonly StoredEvent[]): string[] {
  return [
    ...events.filter(isLoad).map(({ data }) => `${data.instance} was loaded: ${data.reason}.`),
    ...events.filter(isEviction).map(({ data }) => `${data.instance} had to go meanwhile: ${data.reason}.`),
  ]
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

function waitSentence({ queueMs, loadMs }: Pick<RunRecord, 'queueMs' | 'loadMs'>): string {
  const loading = loadMs >= 1 ? `, ${formatDuration(loadMs)} of it for a load` : ''
  return `It waited ${formatDuration(queueMs)} for a place${loading}.`
}

function placeSentence({ instance, placement }: Pick<RunRecord, 'instance' | 'placement'>): string[] {
  if (instance === null) return ['It never had a place.']
  return [placement === null ? `It ran on ${instance}.` : `It ran on ${instance}: ${placement}.`]
}

function reuseSentence({ promptTokens, cachedTokens, savedMs }: RunRecord): string[] {
  if (cachedTokens === 0) return []
  const spared = savedMs >= 1 ? `, which spared ${formatDuration(savedMs)}` : ''
  return [`Of ${promptTokens} tokens of its prompt ${cachedTokens} were there already${spared}.`]
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
