import { ModelyardError } from '../../base/errors.ts'
import type { LoadPlan } from '../engine.ts'
import type { RefusedByServer } from '../supervision/server-connection.ts'

const LONGEST_MESSAGE = 500
/** What its parser of JSON read last: a user's text. */
const QUOTED = /; last read: [\s\S]*/

export function refusedInOurWords(
  { refusal }: RefusedByServer,
  { model, contextSize }: LoadPlan,
): ModelyardError {
  const { status, error: said } = refusal
  if (said.type === 'exceed_context_size_error') {
    const promptTokens = said.n_prompt_tokens ?? 0
    const message =
      `The maximum context length is ${contextSize} tokens, prompt and answer together, but the prompt alone has ${promptTokens}; ` +
      'shorten it, or load the model with a larger context.'
    return new ModelyardError('context_length_exceeded', message, { details: { promptTokens, contextSize } })
  }
  const reason = (said.message ?? `HTTP ${status}`).replace(QUOTED, '').slice(0, LONGEST_MESSAGE)
  // The server says 500 for most of what is wrong with a request; what is, we have checked before.
  const code = status >= 400 && status < 500 && status !== 401 ? 'invalid_request' : 'engine_failed'
  return new ModelyardError(code, `The llama-server worker of "${model}" refused the request: ${reason}`, {
    details: { status },
  })
}
