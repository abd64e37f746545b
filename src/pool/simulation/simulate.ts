import type { Decision } from '../policy/decide.ts'
import type { PoolEvent } from '../policy/messages.ts'
import type { PoolState } from '../policy/state.ts'
import { Arrivals } from './arrivals.ts'
import { Meter, type SimulationReport } from './simulation-report.ts'
import type { Trace } from './trace.ts'
import type { Visitor } from './visitor.ts'
import { World, type Look } from './world.ts'

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
  const { decide, observe, onEnd } = options
  const meter = new Meter(limits)
  const world = new World({
    limits,
    host,
    seed,
    isForgetful: true,
    ...(decide === undefined ? {} : { decide }),
    observe: (look) => {
      meter.observe(look)
      observe?.(look)
    },
  })
  world.machine.shelf.isReliable = true
  for (const model of trace.models) world.declare(model)
  const arrivals = new Arrivals(world, trace.requests, (visitor) => {
    meter.count(visitor)
    onEnd?.(visitor)
  })
  arrivals.begin()
  const last = trace.requests.reduce((latest, { at }) => Math.max(latest, at), 0)
  world.run(last + AFTERMATH)
  return meter.report(world)
}
