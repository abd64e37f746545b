import type { AnswerAction, DialectRequest } from '../dialect.ts'
import { decodeBody, decodeModel } from '../decode-model.ts'
import { refuseUnsupported } from '../parameter-table.ts'
import { decodePrompt } from './decode-chat.ts'
import { COUNT_PARAMETERS } from './parameters.ts'

/** `POST /v1/messages/count_tokens`: what the same request would cost as a message, by the model's own template (BR-40). */
export function countTokens({ body }: DialectRequest): AnswerAction {
  const fields = decodeBody(body)
  const model = decodeModel(fields)
  refuseUnsupported(fields, COUNT_PARAMETERS)
  const task = decodePrompt(fields)
  return {
    type: 'answer',
    answer: async (port, signal) => {
      const tokens = await port.countTokens(model, task, signal)
      return { contentType: 'application/json', body: JSON.stringify({ input_tokens: tokens }) }
    },
  }
}
