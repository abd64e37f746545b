import { ModelyardError } from '../../base/errors.ts'

/**
 * Tokenising blocks a worker, a second for each megabyte or so, and a worker that is silent for long is taken for dead: a text that cannot fit
 * however it is cut into tokens is refused before. @throws context_length_exceeded with both numbers
 */
export function requireTextWithin(
  contextSize: number,
  { longestToken }: { longestToken: number },
  texts: readonly string[],
): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const least = Math.ceil(bytes / longestToken)
  if (least < contextSize) return
  const message =
    `The maximum context length is ${contextSize} tokens, prompt and answer together, but the prompt alone has at least ${least}; ` +
    'shorten it, or load the model with a larger context.'
  throw new ModelyardError('context_length_exceeded', message, {
    details: { promptTokens: least, contextSize },
  })
}
