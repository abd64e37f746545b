import type { StopSignal } from '../../base/cancellation.ts'
import type { Clock } from '../../base/clock.ts'
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

/** What happens before the clock is looked at; at 100,000 events a second, 5 ms. */
const STRIDE = 500

/** Milliseconds of work before other events have a turn. */
const BREATH = 50

/** The policy on a trace, in no time. The same trace gives the same report. */
export function simulate(trace: Trace, options: SimulationOptions = {}): SimulationReport {
  const { world, meter, until } = begun(trace, options)
  world.run(until)
  return meter.report(world)
}

/** The same, letting other events have a turn every 50 ms of `clock`. @throws the signal's reason when it fires meanwhile */
export async function simulateStoppably(
  trace: Trace,
  { clock, signal, ...options }: SimulationOptions & { clock: Clock; signal: StopSignal },
): Promise<SimulationReport> {
  const { world, meter, until } = begun(trace, options)
  for (let rested = clock.now(); !world.run(until, STRIDE);) {
    if (clock.now() - rested < BREATH) continue
    await new Promise(setImmediate)
    signal.throwIfAborted()
    rested = clock.now()
  }
  return meter.report(world)
}

interface Simulation {
  readonly world: World
  readonly meter: Meter
  /** When everybody has been answered. */
  readonly until: number
}

function begun(trace: Trace, options: SimulationOptions): Simulation {
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
  return { world, meter, until: last + AFTERMATH }
}
