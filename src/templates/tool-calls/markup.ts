import { TOOL_CALL_FORMATS } from './tool-call-formats.ts'

const KNOWN: ReadonlySet<string> = new Set(
  TOOL_CALL_FORMATS.flatMap(({ begins, ends, inner = [] }) => [...begins, ...ends, ...inner]).concat([
    '<think>',
    '</think>',
    '<tool_response>',
    '</tool_response>',
  ]),
)

/**
 * Whether a text that the tokenizer keeps whole is a mark that means something to the model. Many are not: runs of spaces, tags of HTML.
 * Those are text, and cutting them would only make it longer.
 */
export function isMarkup(text: string, template: string): boolean {
  return KNOWN.has(text) || (/^[<[]\S*[>\]]$/.test(text) && template.includes(text))
}
