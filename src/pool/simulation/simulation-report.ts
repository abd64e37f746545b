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
  /** Those waits and the time that the disk and the prompt took: until an answer began. */
  firstTokens: WaitReport
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
  /** Tokens of all prompts that were computed, and those that were not because a slot or the disk had them. */
  prompts: { computed: number; reused: number }
  /** Contexts written to disk, and those that were read back and held. */
  contexts: { parked: number; restored: number }
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
  /** Waits of those who were served, by model. */
  readonly #waits = new Map<string, number[]>()
  readonly #firstTokens: number[] = []
  readonly #refused: Record<string, number> = {}
  #duration = 0
  #kept = 0
  #asked = 0
  #reloadTime = 0
  #overBudget = 0
  readonly #prompts = { computed: 0, reused: 0 }
  #parked = 0

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
    if (event.type === 'park-finished') this.#parked++
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

  /** To be called with each visitor that has ended. */
  count({ request, arrivedAt, grantedAt, promptAt, endedAt, granted, refusedWith, usage }: Visitor): void {
    this.#duration = Math.max(this.#duration, endedAt ?? 0)
    if (refusedWith !== undefined)
      this.#refused[refusedWith.code] = (this.#refused[refusedWith.code] ?? 0) + 1
    if (grantedAt === undefined) return
    const waits = this.#waits.get(request.model)
    if (waits === undefined) this.#waits.set(request.model, [grantedAt - arrivedAt])
    else waits.push(grantedAt - arrivedAt)
    this.#firstTokens.push((promptAt ?? grantedAt) - arrivedAt)
    this.#kept += granted?.keptPrefix ?? 0
    this.#asked += request.chain?.length ?? 0
    this.#prompts.reused += usage?.cachedTokens ?? 0
    this.#prompts.computed += (usage?.promptTokens ?? 0) - (usage?.cachedTokens ?? 0)
  }

  report({ events, state }: World): SimulationReport {
    const models: SimulationReport['models'] = {}
    for (const [id, { loads, evictions }] of state.models) {
      const waits = this.#waits.get(id) ?? []
      models[id] = { served: waits.length, loads, evictions, waits: waitsOf(waits) }
    }
    const all = Object.values(models)
    const waits = [...this.#waits.values()].flat()
    return {
      events,
      duration: this.#duration,
      served: waits.length,
      refused: this.#refused,
      waits: waitsOf(waits),
      firstTokens: waitsOf(this.#firstTokens),
      loads: all.reduce((sum, { loads }) => sum + loads, 0),
      evictions: all.reduce((sum, { evictions }) => sum + evictions, 0),
      reloadTime: this.#reloadTime,
      overBudget: this.#overBudget,
      models,
      peak: this.#peak,
      reuse: this.#asked === 0 ? 0 : this.#kept / this.#asked,
      prompts: this.#prompts,
      contexts: {
        parked: this.#parked,
        restored: sumOf([...state.models.values()].map((one) => one.contexts.restored)),
      },
    }
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

function waitsOf(waits: readonly number[]): WaitReport {
  const sorted = Float64Array.from(waits).sort()
  const count = sorted.length
  const at = (part: number): number => sorted[Math.min(count - 1, Math.floor(part * count))] ?? 0
  const total = sorted.reduce((sum, wait) => sum + wait, 0)
  return {
    mean: count === 0 ? 0 : total / count,
    median: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    longest: sorted.at(-1) ?? 0,
  }
}
