import type { PoolLimits, Priority } from '../limits.ts'
import type { Charges } from '../policy/state.ts'
import type { SimulatedModel } from './simulated-model.ts'

/** So many tokens that are also the first of another conversation. */
export interface SharedTokens {
  readonly of: string
  readonly tokens: number
}

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
  /** What its conversation has in common with an earlier one: the prompt of all agents, all that was said before a branch. The same for all its turns. */
  beginning?: SharedTokens
  /** It comes this long after the request of its conversation before it was answered, and not before `at`: an agent waits for its answers. */
  think?: number
  /** It leaves when it has waited so long. */
  timeout?: number
  /** Of its prompt; absent = as many as turns have by default, which take no time of their own; conversations without any begin with one message that all such share. */
  tokens?: number
  /** How many of them were in its slot already when `hold` was measured. Default 0. */
  cached?: number
  /** How much of `hold` went into writing and reading contexts; what the disk does is counted anew. Default 0. */
  disk?: number
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
