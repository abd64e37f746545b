import type { Tool, ToolCall } from '../tasks/message.ts'

/** What a handler is told beside the arguments. */
export interface ToolHandlerContext {
  /** Fires when the call to `chat` ends early. */
  signal: AbortSignal
  call: ToolCall
}

/** A tool that the library calls itself. */
export interface HandledTool extends Tool {
  /**
   * Called with the arguments as the model wrote them; they are JSON, but only forced calls are sure to fit the schema. What it returns is told
   * the model: a text as it is, everything else as JSON. What it throws is told the model as well. Absent = calls are returned to the caller.
   */
  handler?: (given: Record<string, unknown>, context: ToolHandlerContext) => unknown
}
