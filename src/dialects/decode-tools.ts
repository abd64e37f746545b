import { isMap } from '../base/is-map.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { Tool, ToolChoice } from '../tasks/message.ts'
import {
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalArray,
  optionalBoolean,
  optionalChoice,
  wrongType,
  type Fields,
} from './fields.ts'
import { checkTools, decodeFunctionTool } from './function-tool.ts'

const MODES = ['none', 'auto', 'required'] as const

/** Fills in `tools`, `toolChoice` and `parallelToolCalls` from fields as OpenAI's chat has them. @throws ModelyardError that names the wrong field */
export function decodeTools(body: Fields, task: ChatTask): void {
  const tools = (optionalArray(body, 'tools') ?? []).map((tool, index) =>
    decodeFunctionTool(tool, `tools[${index}]`),
  )
  checkTools(tools, (index) => `tools[${index}].function.name`)
  offerTools(body, task, tools, decodeChoice(body['tool_choice']))
}

/** Puts tools and the choice among them into the task. @throws invalid_request for a choice that cannot be kept */
export function offerTools(
  body: Fields,
  task: ChatTask,
  tools: Tool[],
  choice: DecodedChoice | undefined,
): void {
  const parallel = optionalBoolean(body, 'parallel_tool_calls')
  if (tools.length === 0) {
    refuseForcedChoice(choice)
    return
  }
  task.tools = choice?.only === undefined ? tools : tools.filter(({ name }) => choice.only?.includes(name))
  if (choice !== undefined) {
    checkNames(choice, tools)
    task.toolChoice = choice.mode
  }
  if (parallel !== undefined) task.parallelToolCalls = parallel
}

export interface DecodedChoice {
  mode: ToolChoice
  /** Where the choice names functions, with its path. */
  only?: string[]
  param: string
}

function decodeChoice(value: unknown): DecodedChoice | undefined {
  if (!isMap(value)) return decodeMode(value)
  return value['type'] === 'allowed_tools' ? decodeAllowed(value) : decodeNamed(value)
}

/** A choice that is a word, or none. @throws invalid_request */
export function decodeMode(value: unknown): DecodedChoice | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw wrongType('tool_choice', 'a string or an object', value)
  const mode = MODES.find((candidate) => candidate === value)
  if (mode !== undefined) return { mode, param: 'tool_choice' }
  throw invalidField(
    'tool_choice',
    `'tool_choice' must be 'none', 'auto', 'required' or an object that names a function.`,
  )
}

function decodeNamed(fields: Fields): DecodedChoice {
  if (fields['type'] === 'custom') throw notImplemented('tool_choice', 'Custom tools are not supported.')
  optionalChoice(fields, 'type', ['function'], 'tool_choice.')
  const name = functionName(fields, 'tool_choice')
  return { mode: { name }, param: 'tool_choice.function.name' }
}

function decodeAllowed(fields: Fields): DecodedChoice {
  const path = 'tool_choice.allowed_tools'
  const allowed = asFields(fields['allowed_tools'], path)
  const mode = optionalChoice(allowed, 'mode', ['auto', 'required'], `${path}.`) ?? 'auto'
  const tools = optionalArray(allowed, 'tools', `${path}.`) ?? []
  const only = tools.map((tool, index) =>
    functionName(asFields(tool, `${path}.tools[${index}]`), `${path}.tools[${index}]`),
  )
  return { mode, only, param: `${path}.tools` }
}

function functionName(fields: Fields, param: string): string {
  return asString(asFields(fields['function'], `${param}.function`)['name'], `${param}.function.name`)
}

function refuseForcedChoice(choice: DecodedChoice | undefined): void {
  if (choice === undefined || choice.mode === 'none' || choice.mode === 'auto') return
  throw invalidField('tool_choice', `'tool_choice' asks for a tool, but 'tools' offers none.`)
}

function checkNames({ mode, only, param }: DecodedChoice, tools: Tool[]): void {
  const wanted = typeof mode === 'object' ? [mode.name] : (only ?? [])
  if (wanted.every((name) => tools.some((tool) => tool.name === name))) return
  throw invalidField(param, `'${param}' names a function that 'tools' does not offer.`)
}
