import type { StopSignal } from '../base/cancellation.ts'
import type { AskingRun } from '../engines/engine.ts'
import type { LoadWish } from './load-wish.ts'
import type { PartStream } from '../tasks/part.ts'
import type { Message } from '../tasks/message.ts'
import type { Task } from '../tasks/task.ts'
import type { Priority } from '../pool/limits.ts'
import type { RunReader } from './run-reader.ts'

/** A task on its way, from any dialect or from the library. */
export interface RunRequest {
  /** As the client wrote it: id, alias or a dialect's own habit. */
  model: string
  task: Task
  signal?: StopSignal
  priority?: Priority
  /** Milliseconds; overrides the model's keepAlive from this run on. */
  keepAlive?: number
  /** Milliseconds for the whole run; then it ends with `timeout`. */
  timeout?: number
  /** The run that asks: a custom engine that uses other models (P14). */
  within?: AskingRun
  /** Id of the HTTP request it is for, so that it can be found again by it. */
  request?: string
  /** A conversation's name, given by clients that have one; guides placement only. */
  session?: string
  /** `none`: starts from nothing, and nothing of it is kept for later requests, in memory or on disk. */
  cache?: 'none'
  /** What the model's copy is to offer at least; a smaller one is loaded anew when its runs have ended (M3). */
  wish?: LoadWish
  /** Its beginning is wanted for its own sake: what the prompt leaves in the slot is parked and stays (P7). */
  keep?: true
}

/** Filled in as the run goes; everything is known when the first part (`started`) has come. */
export interface RunInfo {
  id: string
  /** Id of the model that answers. */
  model: string
  /** While it waits for its slot, and after. */
  ticket?: string
  instance?: string
  slot?: number
  queueMs: number
  loadMs: number
  promptTokens: number
  cachedTokens: number
  /** Why this slot (R19). */
  placement?: string
}

/** One execution of a task. Iterate `parts` to the end, or call its `return()`: both give the slot back. */
export interface Run {
  readonly info: RunInfo
  readonly parts: PartStream
  /** The same for less; whoever takes it leaves `parts` alone. Absent for runs that are made of others. */
  readonly reader?: RunReader
  /** Turns that were made on the way to the last answer: calls of tools and their results. */
  readonly said?: readonly Message[]
}
