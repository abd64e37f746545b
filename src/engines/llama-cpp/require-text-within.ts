import { ModelyardError } from '../../base/errors.ts'

/**
 * Tokenising blocks a worker, a second for each megabyte or so, and a worker that is silent for long is taken for dead: a text that cannot fit
 * however it is cut into tokens is refused before. @param param field of the request that an error names, where there are several
 * @throws context_length_exceeded with both numbers
 */
export function requireTextWithin(
  contextSize: number,
  { longestToken }: { longestToken: number },
  texts: readonly string[],
  param?: string,
): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const least = Math.ceil(bytes / longestToken)
  if (least >= contextSize) throw tooLong(least, contextSize, param)
}

/**
 * Rendering thousands of turns blocks as well: a conversation of more turns than can fit, however short each is, is refused before.
 * @throws context_length_exceeded with both numbers
 */
export function requireTurnsWithin(contextSize: number, turns: number, leastPerTurn: number): void {
  const least = Math.max(0, turns - 1) * leastPerTurn
  if (least >= contextSize) throw tooLong(least, contextSize)
}

function tooLong(least: number, contextSize: number, param?: string): ModelyardError {
  const message =
    `The maximum context length is ${contextSize} tokens, prompt and answer together, but the prompt alone has at least ${least}; ` +
    'shorten it, or load the model with a larger context.'
  return new ModelyardError('context_length_exceeded', message, {
    details: { promptTokens: least, contextSize, isLeast: true, ...(param !== undefined && { param }) },
  })
}
