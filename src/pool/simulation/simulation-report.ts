import type { MemoryDomain } from '../../host/memory.ts'
import type { PoolLimits } from '../limits.ts'
import { domainsOf, ledger, limitOf } from '../policy/budget.ts'
import type { Charges } from '../policy/state.ts'
import type { Visitor } from './visitor.ts'
import type { Look, World } from './world.ts'

/** What came of a trace. Milliseconds and bytes. */
export interface SimulationReport {
  /** Events decided, and simulated milliseconds until the last request was answered. */
  events: number
  duration: number
  served: number
  /** By error code. */
  refused: Record<string, number>
  waits: WaitReport
  loads: number
  evictions: number
  /** What all loads took together, until they were ready or given up. */
  reloadTime: number
  /** Moments at which more was booked than may be: none, unless a model takes more than was promised. */
  overBudget: number
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
  p99: number
  longest: number
}

/** Watches a simulation and tells what came of it. */
export class Meter {
  readonly #limits: PoolLimits
  readonly #peak: Charges = {}
  readonly #loading = new Map<string, number>()
  #reloadTime = 0
  #overBudget = 0

  constructor(limits: PoolLimits) {
    this.#limits = limits
  }

  /** To be called after each decision. Only what begins to load or was measured can raise the sum. */
  readonly observe = ({ event, decision }: Look): void => {
    let starts = false
    for (const command of decision.commands) {
      if (command.type !== 'start-load') continue
      this.#loading.set(command.instance, event.at)
      starts = true
    }
    if (event.type === 'warm-up-finished' || event.type === 'load-failed')
      this.#noteEnd(event.instance, event.at)
    if (starts || event.type === 'warm-up-finished' || event.type === 'instance-measured')
      this.#weigh(decision.state)
  }

  #noteEnd(instance: string, at: number): void {
    this.#reloadTime += at - (this.#loading.get(instance) ?? at)
    this.#loading.delete(instance)
  }

  #weigh({ instances }: Look['before']): void {
    const booked = ledger(instances)
    const domains = domainsOf(booked)
    for (const domain of domains) this.#peak[domain] = Math.max(this.#peak[domain] ?? 0, booked[domain] ?? 0)
    if (domains.some((domain) => (booked[domain] ?? 0) > limitOf(this.#limits, domain, false)))
      this.#overBudget++
  }

  report(world: World): SimulationReport {
    const visitors = [...world.visitors.values()]
    const served = visitors.filter(({ grantedAt }) => grantedAt !== undefined)
    const models = modelsOf(world, served)
    const all = Object.values(models)
    return {
      events: world.events,
      duration: visitors.reduce((latest, { endedAt }) => Math.max(latest, endedAt ?? 0), 0),
      served: served.length,
      refused: refusalsOf(visitors),
      waits: waitsOf(served),
      loads: all.reduce((sum, { loads }) => sum + loads, 0),
      evictions: all.reduce((sum, { evictions }) => sum + evictions, 0),
      reloadTime: this.#reloadTime,
      overBudget: this.#overBudget,
      models,
      peak: this.#peak,
      reuse: reuseOf(served),
    }
  }
}

function modelsOf(world: World, served: readonly Visitor[]): SimulationReport['models'] {
  const models: SimulationReport['models'] = {}
  for (const [id, { loads, evictions }] of world.state.models) {
    const own = served.filter(({ request }) => request.model === id)
    models[id] = { served: own.length, loads, evictions, waits: waitsOf(own) }
  }
  return models
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
    p99: at(0.99),
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
