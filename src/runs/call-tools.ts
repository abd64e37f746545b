import { abortable } from '../base/abort.ts'
import { parseMap } from '../base/is-map.ts'
import type { Message, ToolCall } from '../tasks/message.ts'
import type { HandledTool } from './tool-handler.ts'

/**
 * Calls the handlers, all at once, and gives their results in the calls' order. What goes wrong is told the model, which can do better the next
 * time. Rejects when the signal fires, whatever the handlers do.
 */
export async function callTools(
  calls: readonly ToolCall[],
  tools: readonly HandledTool[],
  signal: AbortSignal,
): Promise<Message[]> {
  return abortable(Promise.all(calls.map(async (call) => resultOf(call, tools, signal))), signal)
}

async function resultOf(
  call: ToolCall,
  tools: readonly HandledTool[],
  signal: AbortSignal,
): Promise<Message> {
  const content = await contentOf(call, tools, signal)
  return { role: 'tool', toolCallId: call.id, name: call.name, content }
}

async function contentOf(
  call: ToolCall,
  tools: readonly HandledTool[],
  signal: AbortSignal,
): Promise<string> {
  const handler = tools.find(({ name }) => name === call.name)?.handler
  if (handler === undefined) {
    const names = tools.map(({ name }) => name).join(', ')
    return `Error: there is no tool "${call.name}"; the tools are: ${names}.`
  }
  const given = parseMap(call.arguments)
  if (given === undefined) return 'Error: the arguments are not a JSON object.'
  try {
    return textOf(await handler(given, { signal, call }))
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`
  }
}

function textOf(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? '')
}
