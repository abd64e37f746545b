import type { TemplateProgram } from './template-program.ts'

/** What a template wants to be given where models differ. */
export interface TemplateStyle {
  /** Content as a list of `{type: 'text', text}` instead of a text. */
  typedContent: boolean
  /** What stands for "no tools": `null` is usual, some only take an empty list. */
  noTools: null | []
  /** How tool calls of earlier turns are given; `none` = the template leaves them out. */
  calls: CallStyle | 'none'
  /** Whether messages of the role `tool` are taken and shown. */
  results: boolean
  /** A turn can have one call only: several are refused, or all but the first left out. */
  oneCall: boolean
  /** Ids of tool calls must be nine letters or digits. */
  shortIds: boolean
}

export interface CallStyle {
  /** Arguments as JSON text instead of an object. */
  textArguments: boolean
  /** A turn that only calls has `null` for content instead of an empty text. */
  nullContent: boolean
}

const CALL_STYLES: readonly CallStyle[] = [
  { textArguments: false, nullContent: false },
  { textArguments: true, nullContent: false },
  { textArguments: false, nullContent: true },
  { textArguments: true, nullContent: true },
]

/** Finds out what a template wants by trying. */
export function styleOf(program: TemplateProgram): TemplateStyle {
  const noTools = shows(program, [asked('Needle')], null, /Needle/) ? null : noToolsOf(program)
  const typedContent = noTools === null && wantsTypedContent(program)
  const trial = (calls: CallStyle, id: string, result?: string): boolean =>
    shows(
      program,
      [asked('Hi'), called(calls, id), ...(result === undefined ? [] : [answered(result, id)])],
      noTools,
      result === undefined ? /needle.*hay/s : /Needle/,
    )
  const calls = CALL_STYLES.find((style) => trial(style, SHORT_ID)) ?? 'none'
  const style = calls === 'none' ? (CALL_STYLES[0] as CallStyle) : calls
  return {
    typedContent,
    noTools,
    calls,
    results: trial(style, SHORT_ID, 'Needle'),
    oneCall: calls !== 'none' && !showsTwoCalls(program, calls, noTools),
    shortIds: calls !== 'none' && !trial(style, 'call_of_any_length'),
  }
}

const SHORT_ID = 'call00001'

function asked(content: unknown): unknown {
  return { role: 'user', content }
}

function called({ textArguments, nullContent }: CallStyle, id: string): unknown {
  const given = textArguments ? '{"needle": "hay"}' : { needle: 'hay' }
  return {
    role: 'assistant',
    content: nullContent ? null : '',
    tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: given } }],
  }
}

function answered(content: string, id: string): unknown {
  return { role: 'tool', content, tool_call_id: id, name: 'look' }
}

function showsTwoCalls(program: TemplateProgram, style: CallStyle, noTools: null | []): boolean {
  const turn = called(style, SHORT_ID) as { tool_calls: unknown[] }
  const both = { ...turn, tool_calls: [...turn.tool_calls, ...turn.tool_calls] }
  return shows(program, [asked('Hi'), both], noTools, /needle.*hay.*needle.*hay/s)
}

function shows(program: TemplateProgram, messages: unknown[], tools: null | [], pattern: RegExp): boolean {
  try {
    const variables = { messages, tools, add_generation_prompt: false, bos_token: '', eos_token: '' }
    return pattern.test(program.run(variables))
  } catch {
    return false
  }
}

function noToolsOf(program: TemplateProgram): null | [] {
  return shows(program, [asked('Needle')], [], /Needle/) ? [] : null
}

function wantsTypedContent(program: TemplateProgram): boolean {
  if (shows(program, [asked('Needle')], null, /Needle/)) return false
  return shows(program, [asked([{ type: 'text', text: 'Needle' }])], null, /Needle/)
}
