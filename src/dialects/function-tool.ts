import type { Tool } from '../tasks/message.ts'
import {
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalBoolean,
  optionalChoice,
  optionalFields,
  optionalString,
  type Fields,
} from './fields.ts'

const MOST_TOOLS = 512

/** `{type: "function", function: {name, description, parameters, strict}}`. @throws ModelyardError that names the wrong field */
export function decodeFunctionTool(value: unknown, param: string): Tool {
  const fields = asFields(value, param)
  if (fields['type'] === 'custom') throw notImplemented(`${param}.type`, 'Custom tools are not supported.')
  optionalChoice(fields, 'type', ['function'], `${param}.`)
  return decodeFunctionDefinition(asFields(fields['function'], `${param}.function`), `${param}.function`)
}

/** `{name, description, parameters, strict}`. @throws ModelyardError that names the wrong field */
export function decodeFunctionDefinition(definition: Fields, path: string): Tool {
  const tool: Tool = {
    name: asString(definition['name'], `${path}.name`),
    // A function without parameters takes none.
    parameters: optionalFields(definition, 'parameters', `${path}.`) ?? { type: 'object', properties: {} },
  }
  const description = optionalString(definition, 'description', `${path}.`)
  if (description !== undefined) tool.description = description
  const strict = optionalBoolean(definition, 'strict', `${path}.`)
  if (strict !== undefined) tool.strict = strict
  return tool
}

/** @param nameParam path of the name of one of them @throws invalid_request for too many, for empty names and for one name twice */
export function checkTools(tools: readonly Tool[], nameParam: (index: number) => string): void {
  if (tools.length > MOST_TOOLS) {
    throw invalidField('tools', `'tools' has ${tools.length} entries; at most ${MOST_TOOLS} are allowed.`)
  }
  const seen = new Set<string>()
  for (const [index, { name }] of tools.entries()) {
    const param = nameParam(index)
    if (name === '') throw invalidField(param, `'${param}' must not be empty.`)
    if (seen.has(name)) throw invalidField(param, `'${param}' is used by another tool.`)
    seen.add(name)
  }
}
