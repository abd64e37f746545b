import type { Message, Tool, ToolChoice } from './message.ts'
import type { TextGeneration } from './sampling.ts'

/** Shape asked of the answer. `schema` is a JSON Schema, `grammar` is GBNF. */
export type OutputFormat =
  | { type: 'json-object' }
  | { type: 'json-schema'; name: string; schema: Record<string, unknown>; strict: boolean }
  | { type: 'grammar'; grammar: string }

export interface ChatTask extends TextGeneration {
  kind: 'chat'
  /** Oldest first; never empty. A last assistant message is continued (prefill). */
  messages: Message[]
  tools?: Tool[]
  toolChoice?: ToolChoice
  /** Absent = the model may call several tools in one answer. */
  parallelToolCalls?: boolean
  format?: OutputFormat
  reasoning?: { enabled: boolean; budget?: number }
  /** Extra variables for the chat template (`enable_thinking` and the like). */
  templateOptions?: Record<string, unknown>
}
