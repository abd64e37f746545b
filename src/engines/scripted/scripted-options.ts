import type { ErrorCode } from '../../base/errors.ts'
import type { FinishReason } from '../../tasks/part.ts'
import type { Usage } from '../../tasks/usage.ts'
import type { CapabilitySwitches } from '../capability-switches.ts'
import type { LoadFailureClass } from '../engine.ts'

/** Options of a model with `engine: scripted`. Times are milliseconds. */
export interface ScriptedOptions {
  /** Declared bytes per domain (`ram`, `gpu:0`); a lone size (`"1GiB"`) is the host's memory. Nothing is really allocated. Default 1 MiB. */
  memory?: Record<string, number>
  /** Milliseconds a load takes. Default 0. */
  loadTime?: number
  /** The answers, first hit wins, or a YAML or JSON file with the list. Absent = the user's last text comes back. */
  script?: string | ScriptEntry[]
  failLoad?: FailLoad
  /** What this model is said to be unable to do; everything is possible by default. */
  capabilities?: CapabilitySwitches
  /** Length of embedding vectors. Default 384. */
  dimensions?: number
  /** Token ids from 0 to this are valid as input. Default 32,000. */
  vocabularySize?: number
}

export interface FailLoad {
  class: LoadFailureClass
  message: string
  /** Only the first so many loads by this engine object fail; in a worker every load has an engine of its own. Absent = all. */
  times?: number
}

export interface ScriptToolCall {
  name: string
  /** An object is written as JSON in one fragment; a text is one fragment; a list is its fragments. Default `{}`. */
  arguments?: string | string[] | Record<string, unknown>
  /** Absent = a new one for each run. */
  id?: string
}

/** One token: a text, raw bytes, or one with more to say. */
export type ScriptPiece =
  | string
  | {
      text?: string
      bytes?: number[]
      /** Bytes as hexadecimal digits, spaces allowed. */
      hex?: string
      reasoning?: string
      toolCall?: ScriptToolCall
      /** Overrides the entry's `delay`. */
      delay?: number
      logprob?: number
      top?: { text: string; logprob: number }[]
    }

export interface ScriptEntry {
  /** Regular expression on the last user text (chat), the prompt or an input; `/…/i` gives flags. Absent = always. */
  match?: string
  /** Role of the last message, to tell the turn after a tool's result from the one before. */
  after?: 'system' | 'user' | 'assistant' | 'tool'
  /** A list's items are one token each; a text is cut into words with their spaces. */
  text?: string | ScriptPiece[]
  reasoning?: string | ScriptPiece[]
  toolCalls?: ScriptToolCall[]
  /** Reasoning, text and calls in an order of their own. What stands in `reasoning`, `text` and `toolCalls` comes before it. */
  parts?: ScriptPiece[]
  /** Tells what the model saw: the last user text, the rendered prompt, or what the slot held in excess of it when the run began. */
  echo?: 'user' | 'prompt' | 'slot'
  /** The text's tokens so many times. Default 1. */
  repeat?: number
  /** Milliseconds before each token. */
  delay?: number
  /** Milliseconds before the first token, instead of `delay`. */
  firstDelay?: number
  /** Milliseconds before `started`: the time the prompt takes. */
  prefill?: number
  /** Log-probabilities of the text's tokens in order. */
  logprobs?: number[]
  finishReason?: FinishReason
  /** Thrown before token `at` (default 0, `"prefill"` = before `started`). */
  error?: { at?: number | 'prefill'; message: string; code?: ErrorCode; retryAfter?: number }
  /** The process ends before token `at`; in-process the loaded model is gone. */
  exitAt?: number | 'prefill'
  /** Nothing more comes from token `at` on, until the run is aborted. */
  hangAt?: number | 'prefill'
  /** Replaces counted numbers. */
  usage?: Partial<Usage>
  /** The score of a matching document, 0…1. */
  score?: number
  /** The vector of a matching embedding input; normalised as it is. */
  vector?: number[]
}
