import { isMap } from '../../base/is-map.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Tool } from '../../tasks/message.ts'
import {
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalArray,
  optionalChoice,
  type Fields,
} from '../fields.ts'
import { checkTools, decodeFunctionDefinition } from '../function-tool.ts'
import { decodeMode, offerTools, type DecodedChoice } from '../decode-tools.ts'

/** Tools that run at the API's own side; nobody runs them here. */
const HOSTED =
  /^(web_search|file_search|computer|mcp$|code_interpreter|image_generation|local_shell|shell|apply_patch|custom$|tool_search|namespace|programmatic)/

/** Fills in `tools`, `toolChoice` and `parallelToolCalls` from this API's flat forms. */
export function decodeResponseTools(body: Fields, task: ChatTask): void {
  const tools = (optionalArray(body, 'tools') ?? []).map((tool, index) => decodeTool(tool, `tools[${index}]`))
  checkTools(tools, (index) => `tools[${index}].name`)
  offerTools(body, task, tools, decodeChoice(body['tool_choice']))
}

function decodeTool(value: unknown, param: string): Tool {
  const fields = asFields(value, param)
  requireFunction(fields, param)
  return decodeFunctionDefinition(fields, param)
}

function requireFunction(fields: Fields, param: string): void {
  const type = asString(fields['type'], `${param}.type`)
  if (type === 'function') return
  if (HOSTED.test(type))
    throw notImplemented(
      `${param}.type`,
      'Tools other than functions are not supported; offer a function instead.',
    )
  throw invalidField(`${param}.type`, `'${param}.type' must be 'function'.`)
}

function decodeChoice(value: unknown): DecodedChoice | undefined {
  if (!isMap(value)) return decodeMode(value)
  return value['type'] === 'allowed_tools' ? decodeAllowed(value) : decodeNamed(value)
}

function decodeNamed(fields: Fields): DecodedChoice {
  return { mode: { name: functionName(fields, 'tool_choice') }, param: 'tool_choice.name' }
}

function decodeAllowed(fields: Fields): DecodedChoice {
  const mode = optionalChoice(fields, 'mode', ['auto', 'required'], 'tool_choice.') ?? 'auto'
  const tools = optionalArray(fields, 'tools', 'tool_choice.') ?? []
  const only = tools.map((tool, index) => {
    const param = `tool_choice.tools[${index}]`
    return functionName(asFields(tool, param), param)
  })
  return { mode, only, param: 'tool_choice.tools' }
}

function functionName(fields: Fields, param: string): string {
  requireFunction(fields, param)
  return asString(fields['name'], `${param}.name`)
}
