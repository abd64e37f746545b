import type { Tool } from '../../tasks/message.ts'
import type { ControlTexts } from '../control-texts.ts'
import { templateTool, type PlainMessage } from '../template-message.ts'

/**
 * Tells the tools in the system message, in the words that most models were trained on, to a model whose template has none of its own.
 * Earlier calls and results are told by `withToolHistory` in the same form.
 */
export function withToolsTold(
  messages: readonly PlainMessage[],
  tools: readonly Tool[],
  control: ControlTexts,
): PlainMessage[] {
  const definitions = tools.map((tool) => JSON.stringify(templateTool(tool, control)))
  const words = toolWords(definitions)
  const index = messages.findIndex(({ role }) => role === 'system')
  const system = messages[index]
  if (system === undefined) return [{ role: 'system', content: words }, ...messages]
  const content = system.content === '' ? words : `${system.content}\n\n${words}`
  return messages.with(index, { role: 'system', content })
}

function toolWords(definitions: readonly string[]): string {
  return [
    '# Tools',
    '',
    'You may call one or more functions to assist with the user query.',
    '',
    'You are provided with function signatures within <tools></tools> XML tags:',
    '<tools>',
    ...definitions,
    '</tools>',
    '',
    'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:',
    '<tool_call>',
    '{"name": <function-name>, "arguments": <args-json-object>}',
    '</tool_call>',
  ].join('\n')
}
