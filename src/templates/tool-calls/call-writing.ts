import type { ToolCallFormat } from './tool-call-format.ts'

/** What stands around names and arguments (JSON) of calls that a model is made to write. */
export interface CallWriting {
  /** Before the first name. */
  first: string
  /** Between a name and its arguments. */
  middle: string
  /** Between arguments and the next name. */
  next: string
  /** After the last arguments. */
  last: string
}

/**
 * The family's own way where its arguments are JSON. Where they are tags or a programming language, calls that are forced are JSON
 * between the family's markers: that can be held to any schema, and is read back just so.
 */
export function callWriting(format: ToolCallFormat): CallWriting {
  const { family, shape, begins, ends } = format
  const [begin = ''] = begins
  const [end = ''] = ends
  const own = WRITINGS[family]
  if (own !== undefined) return own
  if (shape.body === 'keyed-json') return listed(`${begin}[{"`, '": ', `}]${end}`, '}, {"')
  if (shape.body === 'json' && family !== 'hermes' && family !== 'generic') {
    return listed(`${begin}[{"name": "`, '", "arguments": ', `}]${end}`, '}, {"name": "')
  }
  const first = `${begin}\n{"name": "`
  return { first, middle: '", "arguments": ', next: `}\n${end}\n${first}`, last: `}\n${end}` }
}

function listed(first: string, middle: string, last: string, next: string): CallWriting {
  return { first, middle, next, last }
}

const WRITINGS: Readonly<Record<string, CallWriting>> = {
  'llama-3': { first: '{"name": "', middle: '", "parameters": ', next: '}\n{"name": "', last: '}' },
  mistral: { first: '[TOOL_CALLS]', middle: '[ARGS]', next: '[TOOL_CALLS]', last: '' },
  'functionary-v3.1': {
    first: '<function=',
    middle: '>',
    next: '</function><function=',
    last: '</function>',
  },
  'functionary-v3.2': { first: '', middle: '\n', next: '>>>', last: '' },
  'gpt-oss': {
    first: '<|channel|>commentary to=functions.',
    middle: ' <|constrain|>json<|message|>',
    next: '<|call|><|start|>assistant<|channel|>commentary to=functions.',
    last: '',
  },
  'command-r': {
    first: '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "',
    middle: '", "parameters": ',
    next: '},\n    {"tool_call_id": "1", "tool_name": "',
    last: '}\n]<|END_ACTION|>',
  },
  'command-r-plus': {
    first: 'Action:\n```json\n[{"tool_name": "',
    middle: '", "parameters": ',
    next: '}, {"tool_name": "',
    last: '}]\n```',
  },
  gigachat: {
    first: '<|function_call|>{"name": "',
    middle: '", "arguments": ',
    next: '}{"name": "',
    last: '}',
  },
  deepseek: {
    first: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>',
    middle: '<｜tool▁sep｜>',
    next: '<｜tool▁call▁end｜><｜tool▁call▁begin｜>',
    last: '<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  },
  'kimi-k2': {
    first: '<|tool_calls_section_begin|><|tool_call_begin|>functions.',
    middle: ':0<|tool_call_argument_begin|>',
    next: '<|tool_call_end|><|tool_call_begin|>functions.',
    last: '<|tool_call_end|><|tool_calls_section_end|>',
  },
  solar: {
    first: '<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>',
    middle: '<|tool_call:args|>',
    next: '<|tool_call:end|><|tool_call:begin|>1<|tool_call:name|>',
    last: '<|tool_call:end|><|calls|>',
  },
}
