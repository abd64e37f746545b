import type { SerializedError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan, LoadProgress } from '../engine.ts'

/**
 * What server and worker say to each other over Node's IPC channel, as structured clones (vectors and images stay binary). Messages
 * of one direction arrive in order. `id` names one run or call; ids are never used twice in a worker.
 */
export type ToWorker =
  /** Which engine to make: a built-in name or `module:` and an absolute path. Sent at spawn, so that a spare can import ahead (R18). */
  | { type: 'construct'; engine: string; options: Record<string, unknown> }
  | { type: 'load'; plan: LoadPlan }
  | { type: 'run'; id: number; task: Task; slot: number; keptPrefix: number }
  /** The reader took this many parts: as many more may be made (see {@link PART_WINDOW}). */
  | { type: 'credit'; id: number; parts: number }
  | { type: 'call'; id: number; call: Call }
  /** Ends a run or call; it is still answered with `result`, `returned` or `failed`. */
  | { type: 'abort'; id: number }
  | { type: 'ping'; id: number }
  /** Whether no other model computes (R17). */
  | { type: 'cores'; isAlone: boolean }
  /** Ends all runs, frees the model, exits. */
  | { type: 'unload' }

/** Always sent as a list: what came up during one write leaves with the next. */
export type FromWorker =
  | { type: 'progress'; progress: LoadProgress }
  /** See `LoadedModel`; without `stateIdentity` the engine cannot save slots. */
  | { type: 'loaded'; stateIdentity?: string; savesWhileAnswering?: boolean }
  | { type: 'load-failed'; error: SerializedError }
  /** `made` counts the engine's parts before texts that queued up were joined. */
  | { type: 'parts'; id: number; parts: Part[]; made: number }
  | { type: 'result'; id: number; result: Result }
  | { type: 'returned'; id: number; value: CallValue }
  | { type: 'failed'; id: number; error: SerializedError }
  /** `quiet` is the milliseconds since the engine's last token or prefill movement. */
  | { type: 'pong'; id: number; quiet?: number }

/** What can be asked of the loaded model besides a run. */
export type Call =
  | { method: 'countTokens'; task: Task }
  | { method: 'warmUp' }
  | { method: 'memory' }
  | { method: 'saveSlot'; slot: number; path: string }
  | { method: 'restoreSlot'; slot: number; path: string }

export type CallValue = number | boolean | null | MeasuredFootprint | { tokens: number; bytes: number }

/** Parts of one run that may be on their way or unread; a slow reader pauses the run in the worker (P16). */
export const PART_WINDOW = 256
