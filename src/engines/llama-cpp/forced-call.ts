import { ModelyardError } from '../../base/errors.ts'
import { schemaRules } from '../../grammar/compile-schema.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Tool } from '../../tasks/message.ts'
import { callWriting } from '../../templates/tool-calls/call-writing.ts'
import type { ToolCallFormat } from '../../templates/tool-calls/tool-call-format.ts'

/** A call that the model has to write. */
export interface ForcedCall {
  /** What it begins with, whatever the model would have written. */
  prefix: string
  /** GBNF of the rest. */
  grammar: string
  /** Whether the answer ends with the first call. */
  isSingle: boolean
}

/** So many calls at most in one answer that is made of nothing else: a small model would go on for ever. */
const MOST_CALLS = 8

/**
 * The call that `toolChoice` asks for; undefined when the choice is the model's. Names are those of the tools, arguments fit their
 * schemas. @throws ModelyardError `invalid_request` for a tool that is not offered, or a schema that cannot be held
 */
export function forcedCallOf(task: ChatTask, format: ToolCallFormat): ForcedCall | undefined {
  const { toolChoice = 'auto', tools = [], parallelToolCalls } = task
  if (toolChoice === 'auto' || toolChoice === 'none') return undefined
  const named = typeof toolChoice === 'object' ? toolOf(tools, toolChoice.name) : undefined
  const [only] = tools
  if (only === undefined) throw noTools()
  const isSingle = named !== undefined || parallelToolCalls === false
  const { first, middle, next, last } = callWriting(format)
  const tool = named ?? (isSingle && tools.length === 1 ? only : undefined)
  if (tool !== undefined) {
    const { root, rules } = argumentRules(tool, 0)
    const grammar = `root ::= ${root} ${literal(last)}\n${rules}`
    return { prefix: first + tool.name + middle, grammar, isSingle }
  }
  const offered = tools.map((item, index) => ({ name: item.name, ...argumentRules(item, index) }))
  const calls = offered.map(({ name, root }) => `${literal(name + middle)} ${root}`)
  const more = isSingle ? '' : `(${literal(next)} call){0,${MOST_CALLS - 1}} `
  const lines = [`root ::= call ${more}${literal(last)}`, `call ::= ${calls.join(' | ')}`]
  return {
    prefix: first,
    grammar: `${lines.join('\n')}\n${offered.map(({ rules }) => rules).join('')}`,
    isSingle,
  }
}

function argumentRules({ parameters, strict }: Tool, index: number): { root: string; rules: string } {
  const schema = 'type' in parameters || '$ref' in parameters ? parameters : { type: 'object', ...parameters }
  return schemaRules(schema, { strict: strict === true, prefix: `tool${index}-` })
}

function toolOf(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((item) => item.name === name)
  if (tool !== undefined) return tool
  const message = `The tool "${name}" that is to be called is not among the tools offered: ${tools.map((item) => item.name).join(', ') || 'there are none'}.`
  throw new ModelyardError('invalid_request', message, { details: { param: 'tool_choice' } })
}

function noTools(): ModelyardError {
  const message = 'A tool is to be called, but no tools are offered; send "tools", or leave the choice out.'
  return new ModelyardError('invalid_request', message, { details: { param: 'tool_choice' } })
}

/** As GBNF writes it; every character that could mean something else is a number. */
function literal(text: string): string {
  const units = Array.from(text, (character) => {
    if (/[\w .,:;=<>/|`(){}[\]-]/.test(character)) return character
    const code = character.codePointAt(0) ?? 0
    return code < 0x1_00_00
      ? `\\u${code.toString(16).padStart(4, '0')}`
      : `\\U${code.toString(16).padStart(8, '0')}`
  })
  return `"${units.join('')}"`
}
