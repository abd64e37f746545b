import { requiredImage } from '../dialects/decode-image.ts'
import { decodeModel } from '../dialects/decode-model.ts'
import type { DialectRequest, RunAction } from '../dialects/dialect.ts'
import { decodeExtensions } from '../dialects/extensions.ts'
import { optionalNumber } from '../dialects/fields.ts'
import type { Part, Result } from '../tasks/part.ts'
import { describedBody } from './described-request.ts'
import { WholeAnswer } from './whole-answer.ts'

/** `POST /api/yard/caption` @throws ModelyardError `invalid_request` naming the field */
export function decodeCaption({ body, headers }: DialectRequest): RunAction {
  const fields = describedBody('POST /api/yard/caption', body)
  const model = decodeModel(fields)
  const maxTokens = optionalNumber(fields, 'max_tokens', { least: 0, most: 2 ** 31, integer: true })
  const options = decodeExtensions(fields, headers)
  const image = requiredImage(fields)
  return {
    type: 'run',
    model,
    tasks: [{ kind: 'captioning', image, ...(maxTokens !== undefined && { maxTokens }) }],
    options,
    encoder: caption(model),
    featureFields: { task: 'model' },
  }
}

function caption(model: string): WholeAnswer {
  let text = ''
  const take = (part: Part): void => {
    if (part.type === 'text') text += part.text
  }
  return new WholeAnswer(take, (result) => ({
    model,
    text,
    finish_reason: result?.finishReason ?? 'stop',
    usage: usageOf(result),
  }))
}

function usageOf(result: Result | undefined): Record<string, number> {
  const { promptTokens = 0, completionTokens = 0 } = result?.usage ?? {}
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}
