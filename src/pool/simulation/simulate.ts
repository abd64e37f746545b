import type { PoolLimits, Priority } from '../limits.ts'
import type { Decision } from '../policy/decide.ts'
import type { PoolEvent } from '../policy/messages.ts'
import type { Charges, PoolState } from '../policy/state.ts'
import { requestChain } from './conversations.ts'
import type { SimulatedModel } from './simulated-model.ts'
import { Meter, type SimulationReport } from './simulation-report.ts'
import type { VisitRequest, Visitor } from './visitor.ts'
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
  /** It comes this long after the request of its conversation before it was answered, and not before `at`: an agent waits for its answers. */
  think?: number
  /** It leaves when it has waited so long. */
  timeout?: number
}

/** What the policy is to be tried on. */
export interface Trace {
  limits: PoolLimits
  /** Bytes the machine has per domain. */
  host: Charges
  models: readonly SimulatedModel[]
  /** In any order; those of one conversation that `think` in the order of its turns. */
  requests: readonly TraceRequest[]
  seed?: number
}

export interface SimulationOptions {
  /** Another policy, to compare with. */
  decide?: (state: PoolState, event: PoolEvent) => Decision
  /** Called after each decision. */
  observe?: (look: Look) => void
  /** Called when a request has ended, however. */
  onEnd?: (visitor: Visitor) => void
}

/** Time enough for everybody who waits at the end. */
const AFTERMATH = 24 * 3_600_000

/** The policy on a trace, in no time. The same trace gives the same report. */
export function simulate(trace: Trace, options: SimulationOptions = {}): SimulationReport {
  const { limits, host, seed = 1 } = trace
  const meter = new Meter(limits)
  const { decide, observe, onEnd = () => undefined } = options
  const world = new World({
    limits,
    host,
    seed,
    ...(decide === undefined ? {} : { decide }),
    observe: (look) => {
      meter.observe(look)
      observe?.(look)
    },
  })
  for (const model of trace.models) world.declare(model)
  for (const line of linesOf(trace.requests)) follow(world, line, 0, onEnd)
  const last = trace.requests.reduce((latest, { at }) => Math.max(latest, at), 0)
  world.run(last + AFTERMATH)
  return meter.report(world)
}

/** Requests of which each waits for the one before it. */
type Line = readonly TraceRequest[]

function linesOf(requests: readonly TraceRequest[]): Line[] {
  const lines: TraceRequest[][] = []
  const open = new Map<string, TraceRequest[]>()
  for (const request of requests) {
    const { conversation, think } = request
    const line = conversation === undefined ? undefined : open.get(conversation)
    if (think !== undefined && line !== undefined) line.push(request)
    else {
      const fresh = [request]
      lines.push(fresh)
      if (conversation !== undefined) open.set(conversation, fresh)
    }
  }
  return lines
}

function follow(world: World, line: Line, index: number, onEnd: (visitor: Visitor) => void): void {
  const request = line[index]
  if (request === undefined) return
  const earliest = index === 0 ? 0 : world.now + (request.think ?? 0)
  const visit = visitOf(request)
  const ended = (visitor: Visitor): void => {
    onEnd(visitor)
    follow(world, line, index + 1, onEnd)
  }
  world.after(Math.max(request.at, earliest) - world.now, () => world.request({ ...visit, onEnd: ended }))
}

function visitOf({ model, hold, priority, timeout, conversation, turn = 0 }: TraceRequest): VisitRequest {
  const chain = conversation === undefined ? [] : requestChain(model, conversation, turn)
  return {
    model,
    hold,
    chain,
    ...(priority === undefined ? {} : { priority }),
    ...(timeout === undefined ? {} : { timeout }),
  }
}
