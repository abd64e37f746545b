import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Tool } from '../../tasks/message.ts'
import {
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalArray,
  optionalBoolean,
  optionalChoice,
  optionalFields,
  optionalString,
  type Fields,
} from '../fields.ts'
import { checkTools } from '../function-tool.ts'

/** Fills in `tools`, `toolChoice` and `parallelToolCalls`. */
export function decodeTools(body: Fields, task: ChatTask): void {
  const tools = (optionalArray(body, 'tools') ?? []).map((tool, index) => decodeTool(tool, `tools[${index}]`))
  checkTools(tools, (index) => `tools[${index}].name`)
  const choice = decodeChoice(optionalFields(body, 'tool_choice'))
  if (tools.length === 0) {
    refuseForcedChoice(choice)
    return
  }
  task.tools = tools
  if (choice === undefined) return
  const { mode, parallel } = choice
  if (typeof mode === 'object' && !tools.some(({ name }) => name === mode.name)) {
    throw invalidField('tool_choice.name', `'tool_choice.name' names a tool that 'tools' does not offer.`)
  }
  task.toolChoice = mode
  if (!parallel) task.parallelToolCalls = false
}

function decodeTool(value: unknown, param: string): Tool {
  const fields = asFields(value, param)
  const type = optionalString(fields, 'type', `${param}.`) ?? 'custom'
  if (type !== 'custom') {
    throw notImplemented(
      `${param}.type`,
      `'${param}.type' is a tool that Anthropic defines; describe it with input_schema as one of your own.`,
    )
  }
  refuseHiddenTools(fields, param)
  const tool: Tool = {
    name: asString(fields['name'], `${param}.name`),
    parameters: asFields(fields['input_schema'], `${param}.input_schema`),
  }
  const description = optionalString(fields, 'description', `${param}.`)
  if (description !== undefined) tool.description = description
  const strict = optionalBoolean(fields, 'strict', `${param}.`)
  if (strict !== undefined) tool.strict = strict
  return tool
}

/** Tools that only a search or a program of Anthropic's could reach would never be called. */
function refuseHiddenTools(fields: Fields, param: string): void {
  if (optionalBoolean(fields, 'defer_loading', `${param}.`) === true) {
    throw notImplemented(
      `${param}.defer_loading`,
      `This server searches no tools; leave '${param}.defer_loading' out.`,
    )
  }
  const callers = optionalArray(fields, 'allowed_callers', `${param}.`)
  if (callers === undefined || callers.includes('direct')) return
  throw notImplemented(
    `${param}.allowed_callers`,
    `Here the model alone calls tools: '${param}.allowed_callers' must have "direct".`,
  )
}

interface DecodedChoice {
  mode: NonNullable<ChatTask['toolChoice']>
  parallel: boolean
}

function decodeChoice(fields: Fields | undefined): DecodedChoice | undefined {
  if (fields === undefined) return undefined
  const type = optionalChoice(fields, 'type', ['auto', 'any', 'tool', 'none'] as const, 'tool_choice.')
  if (type === undefined) throw invalidField('tool_choice.type', `'tool_choice.type' is missing.`)
  const parallel = optionalBoolean(fields, 'disable_parallel_tool_use', 'tool_choice.') !== true
  if (type === 'tool') return { mode: { name: asString(fields['name'], 'tool_choice.name') }, parallel }
  return { mode: type === 'any' ? 'required' : type, parallel }
}

function refuseForcedChoice(choice: DecodedChoice | undefined): void {
  if (choice === undefined || choice.mode === 'none' || choice.mode === 'auto') return
  throw invalidField('tool_choice', `'tool_choice' asks for a tool, but 'tools' offers none.`)
}
