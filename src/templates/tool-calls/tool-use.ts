import type { TemplateProgram } from '../template-program.ts'
import type { TemplateStyle } from '../template-style.ts'
import type { ToolCallFormat } from './tool-call-format.ts'
import { GENERIC_FORMAT, TOOL_CALL_FORMATS } from './tool-call-formats.ts'

/** What a template does with tools. */
export interface ToolUse {
  /** The template shows tools to the model; otherwise they are told in the system message. */
  isTold: boolean
  format: ToolCallFormat
}

const NAME = 'look_for_needle'

/** Finds out by trying: by what the template writes for a call, else by what its source speaks of. */
export function toolUseOf(program: TemplateProgram, source: string, style: TemplateStyle): ToolUse {
  const isTold = [null, 'system'].some((first) => tried(program, style, first).includes(NAME))
  if (!isTold) return { isTold, format: GENERIC_FORMAT }
  const written = writtenCall(program, style)
  const format = formatOf(written) ?? formatOf(source) ?? GENERIC_FORMAT
  return { isTold, format }
}

function formatOf(text: string): ToolCallFormat | undefined {
  return TOOL_CALL_FORMATS.find(({ sign }) => sign.test(text))
}

function tried(program: TemplateProgram, style: TemplateStyle, first: string | null): string {
  const messages = [...(first === null ? [] : [message('system', style)]), message('user', style)]
  return rendered(program, { messages, add_generation_prompt: true })
}

function message(role: string, { typedContent }: TemplateStyle): unknown {
  return { role, content: typedContent ? [{ type: 'text', text: 'Hi' }] : 'Hi' }
}

/** What stands for a call: what a turn with one has that the conversation without it has not. */
function writtenCall(program: TemplateProgram, style: TemplateStyle): string {
  if (style.calls === 'none') return ''
  const { textArguments, nullContent } = style.calls
  const given = textArguments ? '{"needle": "hay"}' : { needle: 'hay' }
  const call = { id: 'call00001', type: 'function', function: { name: NAME, arguments: given } }
  const turn = { role: 'assistant', content: nullContent ? null : '', tool_calls: [call] }
  const user = message('user', style)
  const before = rendered(program, { messages: [user], add_generation_prompt: false })
  const after = rendered(program, { messages: [user, turn], add_generation_prompt: false })
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  return after.slice(same)
}

function rendered(program: TemplateProgram, variables: Record<string, unknown>): string {
  const parameters = {
    type: 'object',
    properties: { needle: { type: 'string', description: 'It' } },
    required: ['needle'],
  }
  const definition = { name: NAME, description: 'Looks for it', parameters }
  const tools = [{ type: 'function', function: definition }]
  try {
    return program.run({ ...variables, tools, bos_token: '', eos_token: '' })
  } catch {
    return ''
  }
}
