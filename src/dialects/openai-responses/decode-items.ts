import {
  asArray,
  asFields,
  asString,
  invalidField,
  notImplemented,
  optionalArray,
  wrongType,
  type Fields,
} from '../fields.ts'
import { decodeItemContent } from './decode-item-content.ts'
import type { Turns } from './turns.ts'

/** Items of tools that run at the API's own side, and other things only the API itself can make. */
const HOSTED_ITEM =
  /^(file_search|computer|web_search|image_generation|code_interpreter|local_shell|shell|apply_patch|mcp|custom_tool|tool_search|compaction|program|additional_tools)/

/** `input`: a text of the user, or items, oldest first. @throws ModelyardError that names the wrong one by its place */
export function decodeInput(input: unknown, turns: Turns): void {
  if (input === undefined) throw invalidField('input', `'input' is missing.`)
  if (typeof input === 'string') return turns.say('user', input)
  const items = asArray(input, 'input')
  if (items.length === 0) throw invalidField('input', `'input' is an empty array.`)
  items.forEach((item, index) => decodeItem(asFields(item, `input[${index}]`), `input[${index}]`, turns))
}

function decodeItem(fields: Fields, param: string, turns: Turns): void {
  switch (fields['type']) {
    case undefined:
    case 'message':
      return decodeMessage(fields, param, turns)
    case 'reasoning':
      return turns.think(decodeThought(fields, param))
    case 'function_call':
      return turns.call({
        id: asString(fields['call_id'], `${param}.call_id`),
        name: asString(fields['name'], `${param}.name`),
        arguments: asString(fields['arguments'], `${param}.arguments`),
      })
    case 'function_call_output':
      return turns.result(
        asString(fields['call_id'], `${param}.call_id`),
        decodeItemContent(fields['output'], `${param}.output`),
      )
    default:
      throw unknownItem(fields['type'], param)
  }
}

function unknownItem(type: unknown, param: string): Error {
  if (typeof type !== 'string') return wrongType(`${param}.type`, 'a string', type)
  if (type === 'item_reference')
    return notImplemented(`${param}.type`, 'This server keeps no items; send the item itself.')
  if (HOSTED_ITEM.test(type))
    return notImplemented(`${param}.type`, 'Items of tools other than functions are not supported.')
  return invalidField(
    `${param}.type`,
    `'${param}.type' must be one of 'message', 'reasoning', 'function_call', 'function_call_output'.`,
  )
}

function decodeMessage(fields: Fields, param: string, turns: Turns): void {
  const content = decodeItemContent(fields['content'], `${param}.content`)
  switch (fields['role']) {
    case 'system':
    case 'developer': // a system message by another name (BR-05)
      return turns.say('system', content)
    case 'user':
      return turns.say('user', content)
    case 'assistant':
      return turns.answer(content)
    default:
      throw invalidField(
        `${param}.role`,
        `'${param}.role' must be one of 'system', 'developer', 'user', 'assistant'.`,
      )
  }
}

/** The thought itself where it is there, else its summary. */
function decodeThought(fields: Fields, param: string): string {
  const content = textsOf(fields, 'content', param)
  return content === '' ? textsOf(fields, 'summary', param) : content
}

function textsOf(fields: Fields, name: string, param: string): string {
  const parts = optionalArray(fields, name, `${param}.`) ?? []
  return parts
    .map((part, index) => {
      const path = `${param}.${name}[${index}]`
      return asString(asFields(part, path)['text'], `${path}.text`)
    })
    .join('')
}
