import type { MemoryDomain } from '../../host/memory.ts'
import type { PoolLimits, Priority } from '../limits.ts'
import { domainsOf, ledger } from '../policy/budget.ts'
import type { Charges } from '../policy/state.ts'
import { requestChain } from './conversations.ts'
import type { SimulatedModel } from './simulated-model.ts'
import type { Visitor } from './visitor.ts'
import { World, type Look } from './world.ts'

/** One request of a recorded or made-up day. Milliseconds. */
export interface TraceRequest {
  /** When it comes. */
  at: number
  model: string
  /** How long its run takes once it has a slot. */
  hold: number
  priority?: Priority
  /** Name of its conversation; absent = nothing to reuse. */
  conversation?: string
  /** Which turn of it, from 0. */
  turn?: number
}

/** What the policy is to be tried on. */
export interface Trace {
  limits: PoolLimits
  /** Bytes the machine has per domain. */
  host: Charges
  models: readonly SimulatedModel[]
  /** In any order. */
  requests: readonly TraceRequest[]
  seed?: number
}

/** What came of it. Milliseconds and bytes. */
export interface SimulationReport {
  /** Events decided, and simulated milliseconds until the last request was answered. */
  events: number
  duration: number
  served: number
  /** By error code. */
  refused: Record<string, number>
  waits: WaitReport
  models: Record<string, { served: number; loads: number; evictions: number; waits: WaitReport }>
  /** Most that was ever booked at once. */
  peak: Partial<Record<MemoryDomain, number>>
  /** Part of the blocks of all requests that their slot still held. */
  reuse: number
}

export interface WaitReport {
  mean: number
  median: number
  p95: number
  longest: number
}

/** Time enough for everybody who waits at the end. */
const AFTERMATH = 24 * 3_600_000

/** The policy on a trace, in no time. The same trace gives the same report. */
export function simulate(trace: Trace): SimulationReport {
  const peak: Charges = {}
  const { limits, host, seed = 1 } = trace
  const world = new World({ limits, host, seed, observe: (look) => notePeak(peak, look) })
  for (const model of trace.models) world.declare(model)
  for (const request of trace.requests) world.after(request.at, () => visit(world, request))
  const last = trace.requests.reduce((latest, { at }) => Math.max(latest, at), 0)
  world.run(last + AFTERMATH)
  return reportOf(world, peak)
}

function visit(world: World, { model, hold, priority, conversation, turn = 0 }: TraceRequest): void {
  const chain = conversation === undefined ? [] : requestChain(model, conversation, turn)
  world.request({ model, hold, chain, ...(priority === undefined ? {} : { priority }) })
}

/** Only what begins to load or was measured can raise the sum. */
function notePeak(peak: Charges, { event, decision }: Look): void {
  const isMeasured = event.type === 'warm-up-finished' || event.type === 'instance-measured'
  if (!isMeasured && !decision.commands.some(({ type }) => type === 'start-load')) return
  const booked = ledger(decision.state.instances)
  for (const domain of domainsOf(booked)) peak[domain] = Math.max(peak[domain] ?? 0, booked[domain] ?? 0)
}

function reportOf(world: World, peak: Charges): SimulationReport {
  const visitors = [...world.visitors.values()]
  const served = visitors.filter(({ grantedAt }) => grantedAt !== undefined)
  const models: SimulationReport['models'] = {}
  for (const [id, { loads, evictions }] of world.state.models) {
    const own = served.filter(({ request }) => request.model === id)
    models[id] = { served: own.length, loads, evictions, waits: waitsOf(own) }
  }
  return {
    events: world.events,
    duration: visitors.reduce((latest, { endedAt }) => Math.max(latest, endedAt ?? 0), 0),
    served: served.length,
    refused: refusalsOf(visitors),
    waits: waitsOf(served),
    models,
    peak,
    reuse: reuseOf(served),
  }
}

function refusalsOf(visitors: readonly Visitor[]): Record<string, number> {
  const refused: Record<string, number> = {}
  for (const { refusedWith } of visitors) {
    if (refusedWith !== undefined) refused[refusedWith.code] = (refused[refusedWith.code] ?? 0) + 1
  }
  return refused
}

function waitsOf(served: readonly Visitor[]): WaitReport {
  const waits = served
    .map(({ grantedAt, arrivedAt }) => (grantedAt ?? arrivedAt) - arrivedAt)
    .sort((a, b) => a - b)
  const at = (part: number): number => waits[Math.min(waits.length - 1, Math.floor(part * waits.length))] ?? 0
  const total = waits.reduce((sum, wait) => sum + wait, 0)
  return {
    mean: waits.length === 0 ? 0 : total / waits.length,
    median: at(0.5),
    p95: at(0.95),
    longest: waits.at(-1) ?? 0,
  }
}

function reuseOf(served: readonly Visitor[]): number {
  let [kept, asked] = [0, 0]
  for (const { granted, request } of served) {
    kept += granted?.keptPrefix ?? 0
    asked += request.chain?.length ?? 0
  }
  return asked === 0 ? 0 : kept / asked
}
