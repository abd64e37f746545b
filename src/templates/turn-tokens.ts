import type { Message } from '../tasks/message.ts'
import type { ControlTexts } from './control-texts.ts'

/**
 * Tokens that each further turn of a conversation takes at the least, whatever it says: the control tokens that the template writes for
 * it, since the tokenizer keeps them whole; at least one where it writes anything. 0 = nothing is known.
 * @param render what the template makes of a conversation
 */
export function leastTokensPerTurn(
  render: (messages: readonly Message[]) => string,
  control: ControlTexts,
): number {
  try {
    const [one, three, five] = [1, 3, 5].map((turns) => render(conversationOf(turns)))
    const growths = [difference(one, three, control), difference(three, five, control)]
    return Math.min(...growths.map(({ marks, bytes }) => Math.max(bytes > 0 ? 1 : 0, Math.floor(marks / 2))))
  } catch {
    return 0
  }
}

function conversationOf(turns: number): Message[] {
  return Array.from({ length: turns }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: 'a',
  }))
}

function difference(shorter = '', longer = '', control: ControlTexts): { marks: number; bytes: number } {
  return {
    marks: countOf(longer, control) - countOf(shorter, control),
    bytes: longer.length - shorter.length,
  }
}

/** How many control texts stand in a text. */
function countOf(text: string, control: ControlTexts): number {
  let count = 0
  for (let index = 0; index < text.length;) {
    const found = control.textAt(text, index)
    if (found !== undefined) count++
    index += found?.length ?? 1
  }
  return count
}
